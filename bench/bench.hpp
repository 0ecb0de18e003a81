/**
 *  @file bench.hpp
 *  @brief What every benchmark shares: the machine's measured peak, median times, a table, and its JSON.
 *
 *  Percentages are of what the thread reached a moment before with products of registers alone, so that a busy or a
 *  throttled machine lowers both.
 */
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <random>
#include <string>
#include <vector>

#include <uform/encoder/classes.hpp>
#include <uform/encoder/serial.hpp>
#include <uform/utilities/classes.hpp>

#include "support/peak_loops.hpp"

namespace bench {

using namespace uform;
using namespace uform::peak;

/** Seconds this thread has computed: other programs that take turns on the core do not count. */
inline double seconds_now() { return thread_seconds(); }

struct class_t {
    char const *name;
    kit_table_t const &table;
    loop_t loop;
};
inline class_t class_named(std::string const &name) {
#if defined(__x86_64__)
    if (name == "sapphire" && runs_here(uform_cpu_class_intel_sapphire_rapids_k)) // asks for tiles
        return {"sapphire", sapphire_table(), loop_of(uform_cpu_class_intel_sapphire_rapids_k)};
    if (name == "genoa") return {"genoa", genoa_table(), loop_of(uform_cpu_class_amd_genoa_k)};
    if (name == "skylake") return {"skylake", skylake_table(), loop_of(uform_cpu_class_intel_skylake_k)};
    if (name == "haswell") return {"haswell", haswell_table(), loop_of(uform_cpu_class_intel_haswell_k)};
#endif
    if (name == "serial") return {"serial", serial_table(), loop_of(uform_cpu_class_serial_k)};
    std::fprintf(stderr, "no class %s in this build, or not on this machine\n", name.c_str());
    std::exit(2);
}

inline double peak_of(class_t const &each) { return operations_per_second(each.loop); }

/** Medians: of the time, and of each round's share of the peak measured right before it. */
struct measured_t {
    double seconds, share;
};
template <typename body_>
measured_t measure(class_t const &each, double flops, body_ const &body) {
    constexpr std::size_t rounds = 9;
    double seconds[rounds], shares[rounds];
    std::size_t repeats = 1;
    body(); // warms caches and scratch
    for (std::size_t round = 0; round < rounds;) {
        double const peak = peak_of(each), start = seconds_now();
        for (std::size_t i = 0; i < repeats; ++i) body();
        double const spent = seconds_now() - start;
        if (spent < 0.004) {
            repeats *= 2;
            continue;
        }
        seconds[round] = spent / double(repeats);
        shares[round] = flops / seconds[round] / peak;
        ++round;
    }
    std::sort(std::begin(seconds), std::end(seconds));
    std::sort(std::begin(shares), std::end(shares));
    return {seconds[rounds / 2], shares[rounds / 2]};
}

/** Lines of a benchmark, printed as they come and kept for `--json FILE`. */
class report_t {
    class_t each_;
    std::string json_;

    void keep(std::string const &work, measured_t measured, char const *unit, double amount) {
        char text[256];
        std::snprintf(text, sizeof(text), "%s\n  {\"work\": \"%s\", \"seconds\": %.9g, \"%s\": %.9g, \"share\": %.4f}",
                      json_.back() == '}' ? "," : "", work.c_str(), measured.seconds, unit, amount, measured.share);
        json_ += text;
        std::fflush(stdout);
    }

  public:
    explicit report_t(class_t const &each) : each_(each) {
        double best = 0;
        for (int round = 0; round < 15; ++round) best = std::max(best, peak_of(each));
        std::printf("%s, one thread, peak %.1f GFLOP/s\n", each.name, best * 1e-9);
        std::printf("%-52s %12s %10s %8s\n", "work", "microseconds", "GFLOP/s", "of peak");
        json_ = "{\"class\": \"" + std::string(each.name) + "\", \"threads\": 1, \"peak\": " + std::to_string(best) +
                ", \"lines\": [";
    }
    /** A product: its share, which it answers, is of the peak beside it, whatever else the machine was doing. */
    template <typename body_>
    double line(std::string const &work, double flops, body_ const &body) {
        measured_t const measured = measure(each_, flops, body);
        std::printf("%-52s %12.1f %10.1f %7.1f%%\n", work.c_str(), measured.seconds * 1e6,
                    flops / measured.seconds * 1e-9, 100 * measured.share);
        keep(work, measured, "flops", flops);
        return measured.share;
    }
    /** A stream has no peak: nanoseconds per token and gigabytes per second instead. */
    template <typename body_>
    void stream(std::string const &work, double tokens, double bytes, body_ const &body) {
        measured_t const measured = measure(each_, 0, body);
        std::printf("%-52s %12.1f %7.1f ns/token %6.1f GB/s\n", work.c_str(), measured.seconds * 1e6,
                    measured.seconds / tokens * 1e9, bytes / measured.seconds * 1e-9);
        keep(work, measured, "tokens", tokens);
    }
    bool save(char const *path) const {
        std::FILE *file = std::fopen(path, "w");
        if (!file) return false;
        std::fprintf(file, "%s]}\n", json_.c_str());
        return std::fclose(file) == 0;
    }
};

inline double median(std::vector<double> values) {
    std::nth_element(values.begin(), values.begin() + std::ptrdiff_t(values.size() / 2), values.end());
    return values[values.size() / 2];
}

/** `--class NAME`, `--json FILE`, `--peer COMMAND` (again for each), `--rounds COUNT`, `--only table|classes`.
 */
struct arguments_t {
    std::string class_name = "genoa";
    char const *json = nullptr;
    std::vector<std::string> peers;
    std::size_t rounds = 5;
    std::string only; // "table": the works of bench/run.sh; "classes": those it runs on each class

    arguments_t(int count, char **values) {
        for (int i = 1; i + 1 < count; i += 2)
            if (!std::strcmp(values[i], "--class"))
                class_name = values[i + 1];
            else if (!std::strcmp(values[i], "--json"))
                json = values[i + 1];
            else if (!std::strcmp(values[i], "--peer"))
                peers.push_back(values[i + 1]);
            else if (!std::strcmp(values[i], "--rounds"))
                rounds = std::max<std::size_t>(1, std::strtoul(values[i + 1], nullptr, 10));
            else if (!std::strcmp(values[i], "--only"))
                only = values[i + 1];
    }
};

/** Aligned memory of normal values; float or BFloat16. */
template <typename scalar_>
buffer_t<scalar_> normal_values(std::size_t count, float scale = 1) {
    static std::mt19937 generator(42);
    std::normal_distribution<float> normal(0, scale);
    buffer_t<scalar_> values;
    if (!values.resize(count)) std::exit(2);
    for (scalar_ &value : values)
        if constexpr (std::is_same_v<scalar_, bf16_t>)
            value = round_to_bf16(normal(generator));
        else
            value = normal(generator);
    return values;
}
inline float value_of(bf16_t x) { return widen(x); }
inline float value_of(float x) { return x; }

/** Ends the program where two answers differ by more than `tolerance` of the larger norm: no time without an answer. */
template <typename scalar_>
void demand_equal(char const *what, buffer_t<scalar_> const &actual, buffer_t<scalar_> const &expected,
                  double tolerance) {
    double error = 0, norm = 0;
    for (std::size_t i = 0; i < actual.size(); ++i) {
        double const a = value_of(actual[i]), b = value_of(expected[i]);
        error += (a - b) * (a - b), norm += b * b;
    }
    if (error <= tolerance * tolerance * norm) return;
    std::fprintf(stderr, "%s is wrong: off by %g of its norm\n", what, std::sqrt(error / norm));
    std::exit(1);
}

} // namespace bench
