/**
 *  @file towers.hpp
 *  @brief What the whole-tower benchmarks share: the peak of several threads at once, wall times, models through the C ABI.
 *
 *  A share here is useful operations over wall time over the peak that as many threads reached together a moment before.
 *  `of CPU` divides by the processor time spent instead: on a busy machine it tells what the code does with what it gets.
 */
#pragma once
#include <chrono>
#include <string>
#include <thread>

#include <sys/resource.h>
#include <unistd.h>

#include <uform/uform.h>

#include "bench.hpp"

namespace bench {

inline double wall_now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}
inline double process_seconds() {
    timespec now {};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return double(now.tv_sec) + double(now.tv_nsec) * 1e-9;
}

/** The peaks of `threads` threads, measured at once, added up. */
inline double team_peak(class_t const &each, std::size_t threads) {
    std::vector<double> peaks(threads);
    std::vector<std::thread> team;
    for (std::size_t i = 0; i < threads; ++i)
        team.emplace_back([&, i] {
            for (int round = 0; round < 5; ++round) peaks[i] = std::max(peaks[i], peak_of(each));
        });
    double sum = 0;
    for (std::size_t i = 0; i < threads; ++i) team[i].join(), sum += peaks[i];
    return sum;
}

struct run_t {
    double seconds, share, cpu_share, peak; // medians
};

/** Medians over `rounds` of a body that does `flops` operations on `threads` threads, warm by now and repeated within a
 *  round; what `others` does with the round's peak comes after. */
template <typename body_, typename others_>
run_t measure_wall(class_t const &each, std::size_t threads, double flops, std::size_t rounds, body_ const &body,
                   std::size_t repeats, others_ const &others) {
    std::vector<double> seconds, shares, cpu_shares, peaks;
    for (std::size_t round = 0; round < rounds; ++round) {
        double const peak = team_peak(each, threads), cpu = process_seconds(), start = wall_now();
        for (std::size_t i = 0; i < repeats; ++i) body();
        double const wall = (wall_now() - start) / double(repeats);
        double const spent = (process_seconds() - cpu) / double(repeats);
        seconds.push_back(wall), shares.push_back(flops / wall / peak);
        cpu_shares.push_back(flops / (spent / double(threads)) / peak);
        peaks.push_back(peak);
        others(peak);
    }
    for (auto *values : {&seconds, &shares, &cpu_shares, &peaks}) std::sort(values->begin(), values->end());
    return {seconds[rounds / 2], shares[rounds / 2], cpu_shares[rounds / 2], peaks[rounds / 2]};
}
template <typename body_>
run_t measure_wall(class_t const &each, std::size_t threads, double flops, std::size_t rounds, body_ const &body) {
    body();
    return measure_wall(each, threads, flops, rounds, body, 1, [](double) {});
}

inline void demand(uform_outcome_t const &outcome, char const *what) {
    if (outcome.status == uform_status_success_k) return;
    std::fprintf(stderr, "%s: %s: %s\n", what, outcome.message, outcome.detail);
    std::exit(1);
}
inline uform_bytes_view_t view(std::string const &text) { return {text.data(), text.size()}; }

inline uform_executor_t executor_of(std::size_t threads) {
    uform_executor_t executor = nullptr;
    uform_outcome_t outcome;
    uform_executor_for_ram_t call {};
    call.executor = &executor, call.outcome = &outcome, call.threads = threads;
    uform_executor_for_ram(&call);
    demand(outcome, "uform_executor_for_ram");
    return executor;
}

/** A trainer of softmax pairs, as the mixtures of this repository train. */
inline uform_trainer_t trainer_of(uform_executor_t executor, std::size_t hidden, std::size_t depth,
                                  std::size_t context, uform_mesh_t mesh = nullptr, std::size_t kept = 0) {
    uform_trainer_t trainer = nullptr;
    uform_outcome_t outcome;
    uform_trainer_init_ram_t call {};
    static std::size_t widths[2] = {64, 0};
    widths[1] = hidden;
    call.trainer = &trainer, call.executor = executor, call.outcome = &outcome, call.hidden = hidden,
    call.depth = depth, call.mesh = mesh;
    call.objective = uform_objective_contrastive_k, call.schedule.steps = 1000;
    call.batch.max_rows_per_device = call.batch.max_segments_per_device = 1024;
    call.batch.max_columns_per_row = context, call.batch.kept_activation_bytes = kept;
    call.contrastive.pair_loss = uform_pair_loss_form_softmax_k, call.contrastive.inverse_temperature = 10;
    call.contrastive.matryoshka_dimensions = widths, call.contrastive.matryoshka_dimensions_count = 2;
    call.regularizers.coding_rate_weight = 0.02f;
    uform_trainer_init_ram(&call);
    demand(outcome, "uform_trainer_init_ram");
    return trainer;
}

/** The class a benchmark is about, to pin a model to. */
inline uform_cpu_class_t pin_of(class_t const &each) {
    uform_cpu_class_t pin = uform_cpu_class_serial_k;
    while (kit_of(pin) != &each.table) ++pin;
    return pin;
}

/** The checkpoint of a freshly drawn model; the same one whenever it is drawn. */
inline void save_fresh(std::size_t hidden, std::size_t depth, std::size_t context, std::string const &path) {
    uform_outcome_t outcome;
    uform_trainer_t trainer = trainer_of(nullptr, hidden, depth, context);
    uform_trainer_save_t save {};
    save.trainer = trainer, save.outcome = &outcome, save.path = view(path);
    uform_trainer_save(&save);
    demand(outcome, "uform_trainer_save");
    uform_trainer_free(trainer);
}
inline uform_model_t load_model(std::string const &path, uform_cpu_class_t cpu_class,
                                uform_scalar_t quantization = uform_scalar_default_k) {
    uform_outcome_t outcome;
    uform_model_t model = nullptr;
    uform_model_load_ram_t load {};
    load.model = &model, load.outcome = &outcome, load.path = view(path), load.cpu_class = cpu_class;
    load.quantization = quantization;
    uform_model_load_ram(&load);
    demand(outcome, "uform_model_load_ram");
    return model;
}
/** A freshly drawn model, through a checkpoint as anybody's. */
inline uform_model_t model_of(std::size_t hidden, std::size_t depth, std::size_t context, uform_cpu_class_t cpu_class,
                              uform_scalar_t quantization = uform_scalar_default_k) {
    std::string const path = "/tmp/uform-bench-" + std::to_string(::getpid()) + ".safetensors";
    save_fresh(hidden, depth, context, path);
    uform_model_t model = load_model(path, cpu_class, quantization);
    std::remove(path.c_str());
    return model;
}

/** Text items of given lengths: bytes that look like prose enough for a table lookup. */
struct texts_t {
    std::string data;
    std::vector<std::size_t> offsets {0};
    double squares = 0; // of the lengths, summed

    void add(std::size_t length) {
        for (std::size_t i = 0; i < length; ++i) data.push_back(char(' ' + (i * 7 + offsets.size() * 13) % 90));
        offsets.push_back(data.size()), squares += double(length) * double(length);
    }
    std::size_t count() const { return offsets.size() - 1; }
    /** Useful operations of one forward: products of every token, and attention within items. */
    double flops(std::size_t hidden, std::size_t depth) const {
        return 2.0 * 16 * double(hidden) * double(hidden) * double(depth) * double(data.size()) +
               4 * squares * double(hidden) * double(depth);
    }
};

inline texts_t items_of(std::size_t length, std::size_t tokens) {
    texts_t texts;
    for (std::size_t i = 0; i < tokens / length; ++i) texts.add(length);
    return texts;
}

/** An executor of its own with an arena, as a caller keeps them. */
struct encoder_t {
    uform_executor_t executor;
    uform_arena_t arena = nullptr;

    explicit encoder_t(std::size_t threads) : executor(executor_of(threads)) {
        uform_outcome_t outcome;
        uform_arena_init_t call {};
        call.arena = &arena, call.executor = executor, call.outcome = &outcome;
        uform_arena_init(&call);
        demand(outcome, "uform_arena_init");
    }
    ~encoder_t() {
        uform_arena_free(arena);
        uform_executor_free(executor);
    }
    uform_rows_t encode(uform_model_t model, texts_t const &texts) const {
        uform_outcome_t outcome;
        uform_rows_t rows {};
        uform_text_encode_t call {};
        call.model = model, call.executor = executor, call.outcome = &outcome, call.count = texts.count();
        call.texts.data = texts.data.data(), call.texts.offsets = texts.offsets.data();
        call.embeddings = &rows, call.arena = arena;
        uform_text_encode(&call);
        demand(outcome, "uform_text_encode");
        return rows;
    }
};

/** Names of peers, and the share of the same peak that each reached. */
using shares_t = std::vector<std::pair<std::string, double>>;

/** Lines of a table, and their JSON. */
class wall_report_t {
    std::string json_ = "[";

  public:
    wall_report_t() {
        std::printf("%-44s %7s %10s %12s %8s %8s\n", "work", "threads", "seconds", "tokens/s", "of peak", "of CPU");
    }
    void line(std::string const &work, std::size_t threads, double tokens, run_t const &run,
              std::string const &shape = {}, shares_t const &peers = {}) {
        std::printf("%-44s %7zu %10.4f %12.0f %7.1f%% %7.1f%%", (work + " " + shape).c_str(), threads, run.seconds,
                    tokens / run.seconds, 100 * run.share, 100 * run.cpu_share);
        char text[512];
        std::snprintf(text, sizeof(text),
                      "%s\n  {\"work\": \"%s\", \"shape\": \"%s\", \"threads\": %zu, \"seconds\": %.9g, "
                      "\"share_of_peak\": %.4f, \"share_of_cpu\": %.4f, \"peak\": %.6g, \"peers\": {",
                      json_.size() > 1 ? "," : "", work.c_str(), shape.c_str(), threads, run.seconds, run.share,
                      run.cpu_share, run.peak);
        json_ += text;
        for (auto const &[name, share] : peers) {
            std::printf("  %s %.1f%%", name.c_str(), 100 * share);
            std::snprintf(text, sizeof(text), "%s\"%s\": %.4f", json_.back() == '{' ? "" : ", ", name.c_str(), share);
            json_ += text;
        }
        json_ += "}}";
        std::printf("\n"), std::fflush(stdout);
    }
    bool save(char const *path) const {
        std::FILE *file = std::fopen(path, "w");
        if (!file) return false;
        std::fprintf(file, "%s\n]\n", json_.c_str());
        return std::fclose(file) == 0;
    }
};

} // namespace bench
