/**
 *  @file text_choose.hpp
 *  @brief A batch of texts to probabilities of legal bytes: the decoder reads a MASK token put behind each text.
 *
 *  The MASK is attended like any token. Its state alone goes through the decoder; the logits of the legal bytes, times
 *  the inverse temperature of the text's group (Guo et al., arXiv:1706.04599), go through a softmax.
 */
#pragma once
#include <uform/encoder/chunks.hpp>
#include <uform/encoder/model.hpp>
#include <uform/utilities/arguments.hpp>

namespace uform {

struct text_choose_job_t {
    model_t const *model = nullptr; // with a decoder
    tape_t<unsigned char> texts;
    tape_t<unsigned char> choices;                     // of each text, all different
    std::uint32_t const *temperature_groups = nullptr; // [count]; null: all zero
    uform_scalar_t scalar = uform_scalar_f32_k;        // f32, bf16 or f16
    std::size_t const *token_offsets = nullptr;        // [count + 1], each text and its MASK
    std::size_t const *choice_offsets = nullptr;       // [count + 1], from zero
    std::byte *probabilities = nullptr;                // one per choice
    uform_progress_t progress {};
};

/** Fills token_offsets [count + 1] and answers how many texts are cut. */
std::size_t measure_questions(text_choose_job_t const &job, std::size_t *token_offsets) noexcept;

/** On success every probability is written. A failure names the item where one is at fault. */
failure_t choose_texts(text_choose_job_t const &job, executor_t &executor) noexcept;

} // namespace uform
