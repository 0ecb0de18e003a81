/**
 *  @file text_encode.hpp
 *  @brief A batch of texts through a model: chunks of whole items, each walked from bytes to landed rows.
 */
#pragma once
#include <uform/encoder/chunks.hpp>
#include <uform/encoder/model.hpp>
#include <uform/utilities/arguments.hpp>
#include <uform/utilities/rows.hpp>

namespace uform {

/** Where one surface lands; null data where nobody asked for it. */
struct surface_t {
    std::byte *data = nullptr;
    std::size_t columns = 0;
    std::size_t stride_bytes = 0;

    explicit operator bool() const noexcept { return data != nullptr; }
    void *row(std::size_t i) const noexcept { return data + i * stride_bytes; }
};

struct text_encode_job_t {
    model_t const *model = nullptr;
    tape_t<unsigned char> texts;
    uform_scalar_t scalar = uform_scalar_f32_k; // what every surface lands as
    surface_t embeddings;                       // [count, dimensions]
    surface_t states;                           // [tokens, hidden]
    surface_t token_vectors;                    // [tokens, token_width]
    std::size_t const *token_offsets = nullptr; // [count + 1], of the states
    uform_progress_t progress {};

    std::size_t count() const noexcept { return texts.size(); }
};

/** Fills token_offsets [count + 1] and answers how many items the context cuts. */
std::size_t measure_texts(text_encode_job_t const &job, std::size_t *token_offsets) noexcept;

/** Runs the batch; on success every surface asked for is written whole. A failure names the item where one is at fault.
 */
failure_t encode_texts(text_encode_job_t const &job, executor_t &executor) noexcept;

} // namespace uform
