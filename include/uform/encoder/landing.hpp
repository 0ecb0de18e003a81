/**
 *  @file landing.hpp
 *  @brief Arrows 6 to 8 of a chunk: states → embeddings and token vectors → rows in the arena. Knows no modality.
 */
#pragma once
#include <uform/encoder/chunks.hpp>
#include <uform/encoder/model.hpp>
#include <uform/utilities/progress.hpp>
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

/** What every encode verb's job holds beside its items. */
struct encode_job_t {
    model_t const *model = nullptr;
    uform_scalar_t scalar = uform_scalar_f32_k; // what every surface lands as
    surface_t embeddings;                       // [count, dimensions]
    surface_t states;                           // [tokens, hidden]
    surface_t token_vectors;                    // [tokens, token_width]
    std::size_t const *token_offsets = nullptr; // [count + 1], of the states
    uform_progress_t progress {};
};

/** Lands what the job asks of a chunk's states [tokens, hidden]; a failure names the item at fault. */
void land_chunk(encode_job_t const &job, chunk_t chunk, items_t items, bf16_t const *states, lane_t &lane) noexcept;

} // namespace uform
