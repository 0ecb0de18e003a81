/**
 *  @file losses.cpp
 *  @brief What a step's losses and update cost on one core: the float32 instances, checked against the double ones.
 *
 *  The competitor of each row is the same template in double, which is what a loss costs without its 4-wide loops.
 */
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include <uform/encoder/serial.hpp>
#include <uform/train/choices.hpp>
#include <uform/train/coding_rate.hpp>
#include <uform/train/contrastive.hpp>
#include <uform/train/masked.hpp>
#include <uform/train/optimizer.hpp>

namespace {

using namespace uform;

template <typename body_>
double milliseconds(body_ const &body) {
    double best = 1e30;
    for (int repeat = 0; repeat < 10; ++repeat) {
        auto const start = std::chrono::steady_clock::now();
        body();
        auto const end = std::chrono::steady_clock::now();
        best = std::min(best, std::chrono::duration<double, std::milli>(end - start).count());
    }
    return best;
}

void report(char const *name, double narrow, double wide, double narrow_ms, double wide_ms) {
    if (!(std::fabs(narrow - wide) <= 1e-4 * (1 + std::fabs(wide)))) {
        std::printf("%s: wrong, %.9g in float, %.9g in double\n", name, narrow, wide);
        std::exit(1);
    }
    std::printf("%-44s %8.2f ms, in double %8.2f ms\n", name, narrow_ms, wide_ms);
}

struct rows_t {
    std::vector<double> wide;
    std::vector<float> narrow;
    explicit rows_t(std::size_t count) : wide(count) {
        std::mt19937 generator(1);
        std::normal_distribution<float> normal;
        for (double &x : wide) x = normal(generator);
        narrow.assign(wide.begin(), wide.end());
    }
};

template <typename scalar_>
double pair_loss(lane_t &lane, pair_loss_t form, std::size_t items, std::size_t hidden, scalar_ const *rows) {
    std::vector<std::size_t> offsets(items + 1), widths = {hidden / 2, hidden};
    std::vector<std::uint32_t> ids(items);
    for (std::size_t i = 0; i < items; ++i) offsets[i + 1] = i + 1, ids[i] = std::uint32_t(i ^ 1);
    std::vector<scalar_> d_rows(items * hidden);
    scalar_ const theta = scalar_(2.3), bias = form == pair_loss_t::sigmoid_k ? scalar_(-10) : scalar_(0);
    scalar_ d_theta = 0, d_bias = 0;
    contrastive_t<scalar_> in;
    in.relations.items = items, in.relations.attract = {offsets, ids, {}};
    in.form = form, in.hidden = hidden, in.widths = widths;
    in.embeddings = rows, in.theta = &theta, in.bias = &bias;
    return contrastive(lane, in, contrastive_gradient_t<scalar_> {d_rows.data(), &d_theta, &d_bias});
}

void bench_pairs(std::size_t items, std::size_t hidden) {
    char const *const names[5] = {"", "balanced", "ranked", "sigmoid", "softmax"};
    rows_t const rows(items * hidden);
    lane_t lane;
    for (int form = 1; form <= 4; ++form) {
        double narrow = 0, wide = 0;
        auto const kind = pair_loss_t(form);
        double const fast = milliseconds([&] { narrow = pair_loss(lane, kind, items, hidden, rows.narrow.data()); });
        double const slow = milliseconds([&] { wide = pair_loss(lane, kind, items, hidden, rows.wide.data()); });
        char name[64];
        std::snprintf(name, sizeof name, "%s, %zu items of %zu, two widths", names[form], items, hidden);
        report(name, narrow, wide, fast, slow);
    }
}

void bench_coding_rate(std::size_t items, std::size_t hidden) {
    rows_t rows(items * hidden), sums(items * hidden);
    lane_t lane;
    double narrow = 0, wide = 0;
    coding_rate_t<float> const in {items, hidden, rows.narrow.data(), 0.02f, 0};
    coding_rate_t<double> const in_wide {items, hidden, rows.wide.data(), 0.02f, 0};
    double const fast = milliseconds([&] { narrow = coding_rate(lane, in, sums.narrow.data()); });
    double const slow = milliseconds([&] { wide = coding_rate(lane, in_wide, sums.wide.data()); });
    char name[64];
    std::snprintf(name, sizeof name, "coding rate, %zu items of %zu", items, hidden);
    report(name, narrow, wide, fast, slow);
}

template <typename kit_, typename scalar_>
double choices(kit_ const &kit, lane_t &lane, std::size_t items, std::size_t each, std::vector<scalar_> logits) {
    std::vector<std::uint32_t> offsets(items + 1);
    std::vector<std::uint8_t> bytes(items * each);
    std::vector<float> const targets(items * each, 1 / float(each));
    std::vector<scalar_> const scales(items, scalar_(1.5));
    for (std::size_t i = 0; i < items; ++i) offsets[i + 1] = std::uint32_t((i + 1) * each);
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = std::uint8_t(i % each * 11);
    choices_t<scalar_> const in {{offsets}, bytes.data(), targets.data(), scales.data(), scalar_(0.5), 1};
    return double(choices_loss(kit, lane, in, logits.data()));
}

void bench_choices(std::size_t items, std::size_t each) {
    rows_t rows(items * byte_values_k);
    lane_t lane;
    double narrow = 0, wide = 0;
    kit_table_t const &kit = *kit_of(uform_cpu_class_serial_k);
    double const fast = milliseconds([&] { narrow = choices(kit, lane, items, each, rows.narrow); });
    double const slow = milliseconds([&] { wide = choices(serial::kit<double>(), lane, items, each, rows.wide); });
    report("choices, 512 items of 16, set-up included", narrow, wide, fast, slow);
}

void bench_masked(std::size_t positions) {
    rows_t rows(positions * 256), d_rows(positions * 256);
    std::vector<std::uint8_t> const targets(positions, 65);
    lane_t lane;
    double narrow = 0, wide = 0;
    masked_text_t<float> const in {positions, rows.narrow.data(), targets.data(), 1};
    masked_text_t<double> const in_wide {positions, rows.wide.data(), targets.data(), 1};
    double const fast = milliseconds([&] { narrow = masked_text(lane, in, d_rows.narrow.data()); });
    double const slow = milliseconds([&] { wide = masked_text(lane, in_wide, d_rows.wide.data()); });
    report("masked text, 4096 positions", narrow, wide, fast, slow);
}

void bench_optimizer(std::size_t rows, std::size_t columns) {
    rows_t const gradient(rows * columns);
    std::vector<bf16_t> master(rows * columns);
    std::vector<float> row_means(rows), column_means(columns), first(rows * columns);
    tensor_view_t view;
    view.master_bf16 = master.data(), view.gradient = gradient.narrow.data(), view.rows = rows, view.columns = columns;
    view.row_means = row_means.data(), view.column_means = column_means.data(), view.first_moment = first.data();
    lane_t lane;
    std::uint64_t step = 0;
    double const fast = milliseconds([&] {
        ++step, adafactor(serial_table(), lane, {&view, 1}, {1e-2f, 1, step, step}, claim_update(lane, {&view, 1}));
    });
    // The same gradient ten times: every step is its factored sign, so weights stand near -10 steps of its size.
    double along = 0, square = 0;
    for (std::size_t i = 0; i < master.size(); ++i)
        along -= widen(master[i]) * gradient.wide[i], square += gradient.wide[i] * gradient.wide[i];
    if (!(along > 0.09 * square && along < 0.11 * square)) std::printf("adafactor: wrong\n"), std::exit(1);
    std::printf("%-44s %8.2f ms a million parameters\n", "adafactor, bfloat16 masters", fast / (rows * columns) * 1e6);
}

} // namespace

int main() {
    bench_pairs(256, 128), bench_pairs(512, 128), bench_pairs(256, 256);
    bench_coding_rate(256, 128), bench_coding_rate(256, 256), bench_coding_rate(256, 512);
    bench_masked(4096);
    bench_choices(512, 16);
    bench_optimizer(2048, 512);
    return 0;
}
