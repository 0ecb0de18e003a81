/**
 *  @file agreement.hpp
 *  @brief What a run and its resumption must agree on: every option that a draw, a loss or an update reads.
 *
 *  Two tables. Sizes are what the file's tensors tell; terms are metadata of the checkpoint, compared as text, so that
 *  what an older build did not write is not compared. In neither: capacities of a device, which decide what finds room
 *  and not what is computed of it; temperatures and biases at the start, which training has moved since; prefixes.
 */
#pragma once
#include <span>
#include <string_view>

#include <uform/mesh/fields.hpp>
#include <uform/train/trainer.hpp>

namespace uform {

/** Options as metadata values; floats in nine digits, which name one float each, whatever the locale. */
class notes_t {
    static constexpr std::size_t entries_limit_k = 32; // 29 are the most that any run has
    static constexpr std::size_t value_limit_k = 64;   // eight widths of five digits, with commas, take 47
    char values_[entries_limit_k][value_limit_k];
    metadata_entry_t entries_[entries_limit_k];
    std::size_t count_ = 0;

  public:
    notes_t() noexcept = default;
    notes_t(notes_t const &) = delete; // entries point into it
    void add(std::string_view key, std::uint64_t value) noexcept;
    void add(std::string_view key, float value) noexcept;
    void add(std::string_view key, char const *name) noexcept; // in static storage
    void add(std::string_view key, std::span<std::size_t const> widths) noexcept;
    std::span<metadata_entry_t const> entries() const noexcept { return {entries_, count_}; }
};

/** Of the media a run trains on, what all processes must agree on: sizes, and where it masks, how. */
void add_media(fields_t &fields, trainer_options_t const &options) noexcept;

void add_schedule(notes_t &notes, trainer_options_t const &options) noexcept;
/** The schedule, and of every term its weight and, where that is above zero, what else it reads. */
void add_terms(notes_t &notes, trainer_options_t const &options) noexcept;

/** What a file says of the terms against what was asked. */
failure_t same_terms(checkpoint_t const &checkpoint, trainer_options_t const &asked) noexcept;
/** The same of a whole checkpoint: sizes, seed and objective too, which a file must have. */
failure_t same_run(checkpoint_t const &checkpoint, model_options_t const &saved, model_notes_t const &notes,
                   trainer_options_t const &asked) noexcept;

failure_t same_number(std::string_view field, std::uint64_t saved, std::uint64_t asked) noexcept;
failure_t refuse_resume(std::string_view field, std::string_view saved, std::string_view asked) noexcept;

} // namespace uform
