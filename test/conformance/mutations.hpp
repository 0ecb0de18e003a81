/**
 *  @file mutations.hpp
 *  @brief Thousands of calls with a few fields gone wrong, drawn from a seed, and a record of how each ended.
 *
 *  What is drawn never depends on an answer, so two libraries make the same calls. The record is one line per call, in
 *  the file that UFORM_CONFORMANCE_RECORD names: scripts/check_agreement.sh compares those of both libraries. Values are
 *  drawn from what borders on something; no mutation may be accepted and then read beyond the memory behind it.
 */
#pragma once
#include <cstdlib>
#include <map>
#include <random>

#include "conformance.hpp"

namespace conformance {

/** Draws values and remembers them for the record. */
class draw_t {
    std::mt19937 random_;
    std::string trace_;

  public:
    explicit draw_t(std::uint32_t seed) : random_(seed) {}

    std::size_t below(std::size_t count) { return random_() % count; } // distributions differ between libraries
    void note(std::string const &text) { trace_ += " " + text; }
    std::string take_trace() { return std::exchange(trace_, {}); }

    template <typename value_>
    value_ of(std::vector<value_> const &values) {
        std::size_t const at = below(values.size());
        if constexpr (std::is_arithmetic_v<value_>)
            note(std::to_string(values[at]));
        else
            note("#" + std::to_string(at));
        return values[at];
    }
    /** Sizes at which products, sums and signs turn over. */
    std::size_t size(std::vector<std::size_t> near) {
        for (std::size_t const far : {std::size_t(1) << 61, std::size_t(1) << 62, (std::size_t(1) << 62) + 64,
                                      std::size_t(1) << 63, SIZE_MAX / 8, SIZE_MAX - 31, SIZE_MAX})
            near.push_back(far);
        return of(near);
    }
    std::int32_t enumerator() {
        return of(std::vector<std::int32_t> {-1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, INT32_MAX, INT32_MIN});
    }
};

/** The record's lines go to a file, or nowhere. */
class record_t {
    std::ofstream file_;

  public:
    std::map<uform_status_t, std::size_t> counts;

    explicit record_t(char const *suite) {
        if (char const *const path = std::getenv("UFORM_CONFORMANCE_RECORD"))
            file_.open(std::string(path) + "." + suite, std::ios::trunc);
    }
    void add(std::size_t round, char const *verb, std::string const &trace, uform_outcome_t const &outcome,
             std::string const &answer = {}) {
        ++counts[outcome.status];
        file_ << round << ' ' << verb << trace << " -> " << uform_status_name(outcome.status) << ' '
              << std::int64_t(outcome.item) << ' ' << outcome.message << ' ' << answer << '\n';
    }
};

template <typename call_>
struct mutation_t {
    char const *field;
    std::function<void(call_ &, draw_t &)> make;
};

/** Makes the call with none to three of its fields changed; a queued one is waited for. */
template <typename call_>
outcome_t answer_mutated(void (*verb)(call_ *), call_ &call, std::vector<mutation_t<call_>> const &mutations,
                         draw_t &draw) {
    for (std::size_t left = draw.below(4); left > 0; --left) {
        auto const &mutation = mutations[draw.below(mutations.size())];
        draw.note(mutation.field);
        mutation.make(call, draw);
    }
    outcome_t outcome;
    call.outcome = &outcome;
    verb(&call);
    uform_outcome_wait(&outcome);
    expect_final(outcome);
    return outcome;
}

} // namespace conformance
