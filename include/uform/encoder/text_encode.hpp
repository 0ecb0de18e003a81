/**
 *  @file text_encode.hpp
 *  @brief A batch of texts through a model: chunks of whole items, each walked from bytes to landed rows.
 */
#pragma once
#include <uform/encoder/landing.hpp>
#include <uform/utilities/arguments.hpp>

namespace uform {

struct text_encode_job_t : encode_job_t {
    tape_t<unsigned char> texts;

    std::size_t count() const noexcept { return texts.size(); }
};

/** Fills token_offsets [count + 1] and answers how many items the context cuts. */
std::size_t measure_texts(text_encode_job_t const &job, std::size_t *token_offsets) noexcept;

/** Runs the batch; on success every surface asked for is written whole. A failure names the item where one is at fault.
 */
failure_t encode_texts(text_encode_job_t const &job, executor_t &executor) noexcept;

} // namespace uform
