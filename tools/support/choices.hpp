/**
 *  @file choices.hpp
 *  @brief Held-out choices from a JSONL file, and what a model says of them.
 */
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "support/calibration.hpp"
#include "support/engine.hpp"

namespace uform::tools {

/** Records of one file, laid out as `uform_text_choose` reads them. */
struct choices_t {
    std::string texts, legal;
    std::vector<std::size_t> text_offsets {0}, legal_offsets {0};
    std::vector<double> targets; // one for each legal byte
    std::vector<std::uint32_t> groups;

    std::size_t size() const noexcept { return groups.size(); }
    /** One beyond the highest group. */
    std::size_t groups_count() const;
};

/** Lines of {"text", "choices", "targets" or "answer", "group"}. */
choices_t read_choices(std::string const &path);

/** Appends the lines of one more file; records that name no group are of `group`. */
void append_choices(std::string const &path, std::uint32_t group, choices_t &choices);

/**
 *  The model's logits of all legal bytes, from its probabilities at `inverse_temperature`, that of its group zero. A
 *  probability below 2^-126, the least that float32 holds whole, counts as that.
 */
judged_choices_t judge_choices(model_t const &model, executor_t const &executor, choices_t const &choices,
                               float inverse_temperature, std::string const &path, std::size_t &truncated);

} // namespace uform::tools
