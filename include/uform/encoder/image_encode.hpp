/**
 *  @file image_encode.hpp
 *  @brief A batch of pictures through a model: chunks of whole items, each walked from patches to landed rows.
 *
 *  Where patches come from is the caller's: the encoder knows no file and no pixel. A chunk asks for its patches on the
 *  thread that then walks it through the tower, so that one thread decodes while another multiplies.
 */
#pragma once
#include <uform/encoder/entry.hpp>
#include <uform/encoder/landing.hpp>

namespace uform {

/** Answers the patches of an item. */
struct patch_source_t {
    /** Writes the first `tokens` patches [tokens, patch values] of an item; from any thread, items at once. */
    failure_t (*fill)(void *self, std::size_t item, std::size_t tokens, bf16_t *patches) noexcept = nullptr;
    void *self = nullptr;
};

struct image_encode_job_t : encode_job_t {
    patch_grid_t const *grids = nullptr; // [count]
    std::size_t count = 0;
    patch_source_t source;
};

/** Fills token_offsets [count + 1] and answers how many items the context cuts. */
std::size_t measure_images(image_encode_job_t const &job, std::size_t *token_offsets) noexcept;

/** Runs the batch; on success every surface asked for is written whole. A failure names the item where one is at fault.
 */
failure_t encode_images(image_encode_job_t const &job, executor_t &executor) noexcept;

} // namespace uform
