/**
 *  @file step_items.hpp
 *  @brief What a step's items are, and how long: told from its arguments and from its files' headers.
 */
#pragma once
#include <cstddef>
#include <vector>

#include "trainer.hpp"

namespace uform_stub {

bool is_text(uform_trainer_step_t const &call, std::size_t i) noexcept;
bool has_media(uform_trainer_step_t const &call) noexcept;
/** Whether the run has an entry for item i. */
bool takes_part(uform_trainer_step_t const &call, options_t const &options, std::size_t i) noexcept;
/** Whether item i has a MASK behind its text, at which it chooses. */
bool asks(uform_trainer_step_t const &call, std::size_t i) noexcept;

/** Bytes of texts, patches of pictures, tubes of clips, chunks of recordings; which of them held more than their grid does. */
struct lengths_t : std::vector<std::size_t> {
    std::vector<bool> cut;

    void add(std::size_t length, bool is_cut = false) { push_back(length), cut.push_back(is_cut); }
};
lengths_t lengths_of(uform_trainer_step_t const &call, options_t const &options);

std::size_t tokens_of(uform_trainer_step_t const &call, lengths_t const &lengths, std::size_t i, std::size_t columns);
/** Tokens without the MASK of an item that asks. */
std::size_t read_tokens_of(uform_trainer_step_t const &call, lengths_t const &lengths, std::size_t i,
                           std::size_t columns);

/** The lengths of all, refused where only the files tell that the arguments are wrong. */
lengths_t measure(uform_trainer_step_t const &call, options_t const &options);

} // namespace uform_stub
