/**
 *  @file judging.cpp
 *  @brief Choices through `uform_text_choose`, a call's worth of texts in memory at a time.
 */
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "support/interrupt.hpp"
#include "support/judging.hpp"

namespace uform::tools {

namespace {

constexpr std::size_t items_per_call_k = 256;
constexpr float least_probability_k = std::numeric_limits<float>::min();

void append(choices_t const &choices, judged_choices_t &judged) {
    std::size_t const before = judged.targets.size();
    for (std::size_t i = 0; i < choices.size(); ++i) judged.offsets.push_back(before + choices.legal_offsets[i + 1]);
    judged.targets.insert(judged.targets.end(), choices.targets.begin(), choices.targets.end());
    judged.groups.insert(judged.groups.end(), choices.groups.begin(), choices.groups.end());
}

} // namespace

judged_choices_t judge_choices(model_t const &model, executor_t const &executor, choice_store_t const &store,
                               float inverse_temperature, std::string const &path, std::size_t &truncated) {
    judged_choices_t judged;
    arena_t const arena = make_arena(executor);
    for (std::size_t first = 0; first < store.size(); first += items_per_call_k) {
        leave_if_interrupted();
        std::vector<std::size_t> records(std::min(items_per_call_k, store.size() - first));
        std::iota(records.begin(), records.end(), first);
        choices_t const choices = store.load(records);
        append(choices, judged);
        uform_outcome_t outcome = {};
        uform_rows_tape_t rows = {};
        uform_text_choose_stats_t stats = {};
        uform_text_choose_t call = {};
        call.model = model.get(), call.executor = executor.get(), call.outcome = &outcome, call.arena = arena.get();
        call.texts = {choices.texts.data(), choices.text_offsets.data(), uform_scalar_u8_k};
        call.choices = {choices.legal.data(), choices.legal_offsets.data(), uform_scalar_u8_k};
        call.count = choices.size(), call.probabilities = &rows;
        call.stats = &stats, call.progress = interruptible();
        uform_text_choose(&call);
        check(outcome, path);
        auto const *const probabilities = static_cast<float const *>(rows.data);
        for (std::size_t i = 0; i < rows.count; ++i)
            judged.logits.push_back(std::log(double(std::max(probabilities[i], least_probability_k))) /
                                    double(inverse_temperature));
        truncated += stats.truncated;
    }
    return judged;
}

} // namespace uform::tools
