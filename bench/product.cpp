/**
 *  @file product.cpp
 *  @brief Products with packed weights and gradients of weights, one thread, against the machine's measured peak;
 *  with `--only table` or `classes`, the products of bench/run.sh on one and two threads, beside peers.
 */
#include "peers.hpp"

#include <uform/utilities/executor.hpp>

namespace {

using namespace bench;

struct product_t {
    std::size_t rows, depth, columns;
};

// The tiers' products, from the small models' up; the last two are the requirement's.
constexpr product_t products_k[] = {
    {20, 128, 384},   {20, 512, 1536},   {256, 128, 384},  {256, 128, 128},  {256, 128, 1024}, {256, 512, 128},
    {1024, 128, 384}, {1024, 128, 1024}, {1024, 512, 128}, {512, 256, 768},  {512, 256, 256},  {512, 256, 2048},
    {512, 1024, 256}, {512, 512, 1536},  {512, 512, 4096}, {512, 2048, 512}, {4096, 512, 512}, {4096, 2048, 512}};

buffer_t<std::byte> packed_bytes(kit_table_t const &kit, buffer_t<bf16_t> const &w, packed_t &packed) {
    buffer_t<std::byte> memory;
    if (!memory.resize(kit.pack_bytes(packed.outputs, packed.inputs, packed.scalar))) std::exit(2);
    packed.data = memory.data();
    kit.pack(w.data(), 0, packed.outputs, packed);
    return memory;
}

/** The answer of few rows against serial's, to rounding of both answers. */
void verify(kit_table_t const &kit, product_t size) {
    size.rows = std::min<std::size_t>(size.rows, 13);
    lane_t lane;
    auto const a = normal_values<bf16_t>(size.rows * size.depth);
    auto const w = normal_values<bf16_t>(size.columns * size.depth);
    auto const d_y = normal_values<bf16_t>(size.rows * size.columns);
    buffer_t<bf16_t> y[2];
    buffer_t<float> d_w[2];
    kit_table_t const *const kits[] = {&kit, &serial_table()};
    for (int i = 0; i < 2; ++i) {
        packed_t packed {nullptr, size.columns, size.depth};
        auto const memory = packed_bytes(*kits[i], w, packed);
        if (!y[i].resize(d_y.size()) || !d_w[i].resize(w.size())) std::exit(2);
        kits[i]->gemm(lane, size.rows, a.data(), packed, y[i].data());
        kits[i]->gemm_backward_weight(lane, size.rows, size.columns, size.depth, d_y.data(), a.data(), d_w[i].data());
    }
    demand_equal("gemm", y[0], y[1], 0x1p-7);
    demand_equal("gemm_backward_weight", d_w[0], d_w[1], 13 * 0x1p-23);
}

void measure(kit_table_t const &kit, product_t size, report_t &report) {
    verify(kit, size);
    lane_t lane;
    auto const a = normal_values<bf16_t>(size.rows * size.depth);
    auto const w = normal_values<bf16_t>(size.columns * size.depth);
    auto y = normal_values<bf16_t>(size.rows * size.columns);
    auto wide = normal_values<float>(size.rows * size.columns);
    auto d_w = normal_values<float>(size.columns * size.depth);
    packed_t packed {nullptr, size.columns, size.depth};
    auto const memory = packed_bytes(kit, w, packed);
    double const flops = 2.0 * double(size.rows) * double(size.depth) * double(size.columns);
    std::string text;
    for (std::size_t part : {size.rows, size.depth, size.columns})
        text.append(text.empty() ? " " : " x ").append(std::to_string(part));
    report.line("gemm" + text, flops, [&] { kit.gemm(lane, size.rows, a.data(), packed, y.data()); });
    report.line("gemm_wide" + text, flops,
                [&] { kit.gemm_wide(lane, size.rows, a.data(), packed, wide.data(), wide.data()); });
    report.line("gemm_backward_weight" + text, flops, [&] {
        kit.gemm_backward_weight(lane, size.rows, size.columns, size.depth, y.data(), a.data(), d_w.data());
    });
}

// The table's: the tiny tower's products and one larger, each with few rows and many.
constexpr std::size_t table_rows_k[] = {64, 256, 4096, 32768};
struct weights_t {
    std::size_t depth, columns;
};
constexpr weights_t table_weights_k[] = {{512, 512}, {512, 1536}, {512, 2048}, {512, 4096}, {2048, 512}, {2048, 4096}};
constexpr std::size_t distinct_rows_k = 64; // of inputs, over and over: as much work, and files that stay small

/** Peers whose first rows are ours, to rounding of both answers. */
std::vector<rival_t *> peers_for(peers_t const &peers, folder_t const &folder, product_t size, bf16_t const *y,
                                std::size_t threads) {
    auto const expected = normal_values<bf16_t>(distinct_rows_k * size.columns);
    std::copy_n(y, expected.size(), const_cast<bf16_t *>(expected.data()));
    auto actual = normal_values<bf16_t>(expected.size());
    std::string work = "product " + folder.path();
    for (std::size_t part : {size.rows, size.depth, size.columns, threads})
        work.append(" ").append(std::to_string(part));
    return peers.prepare(work, [&](peer_t const &peer) {
        if (!folder.read("answer", actual.data(), actual.size() * sizeof(bf16_t))) std::exit(1);
        demand_equal(peer.name().c_str(), actual, expected, 0x1p-7);
    });
}

void measure_table(class_t const &each, weights_t weights, arguments_t const &arguments, peers_t const &peers,
                   wall_report_t &report) {
    folder_t const folder;
    auto const a = normal_values<bf16_t>(distinct_rows_k * weights.depth);
    auto const w = normal_values<bf16_t>(weights.columns * weights.depth);
    folder.write("a", a.data(), a.size() * sizeof(bf16_t));
    folder.write("w", w.data(), w.size() * sizeof(bf16_t));
    packed_t packed {nullptr, weights.columns, weights.depth};
    auto const memory = packed_bytes(each.table, w, packed);
    for (std::size_t rows : table_rows_k) {
        if (arguments.only == "classes" && rows != 256) continue;
        product_t const size {rows, weights.depth, weights.columns};
        buffer_t<bf16_t> inputs, y;
        if (!inputs.resize(rows * size.depth) || !y.resize(rows * size.columns)) std::exit(2);
        for (std::size_t i = 0; i < inputs.size(); i += a.size()) std::copy_n(a.data(), a.size(), inputs.data() + i);
        std::string shape = std::to_string(rows);
        shape.append(" x ").append(std::to_string(size.depth)).append(" x ").append(std::to_string(size.columns));
        for (std::size_t threads : {1, 2}) {
            executor_t executor;
            if (executor.start(threads, uform_cpu_class_derived_k, nullptr)) std::exit(2);
            auto const body = [&] { each.table.gemm(executor.wide_lane(), rows, inputs.data(), packed, y.data()); };
            body();
            std::vector<rival_t *> const ready = peers_for(peers, folder, size, y.data(), threads);
            double const flops = 2.0 * double(rows) * double(size.depth) * double(size.columns);
            compared_t const run = measure_in_turn(each, threads, flops, arguments.rounds, ready, body);
            report.line("product", threads, double(rows), run.ours, shape, run.peers);
        }
    }
}

int run_table(class_t const &each, arguments_t const &arguments) {
    peers_t const peers(arguments.peers);
    wall_report_t report;
    for (weights_t const &weights : table_weights_k) {
        verify(each.table, {13, weights.depth, weights.columns});
        measure_table(each, weights, arguments, peers, report);
    }
    return arguments.json && !report.save(arguments.json) ? 2 : 0;
}

} // namespace

int main(int count, char **values) {
    arguments_t const arguments(count, values);
    class_t const each = class_named(arguments.class_name);
    if (!arguments.only.empty()) return run_table(each, arguments);
    report_t report(each);
    for (product_t const &size : products_k) measure(each.table, size, report);
    return arguments.json && !report.save(arguments.json) ? 2 : 0;
}
