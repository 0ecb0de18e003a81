/**
 *  @file media_encode.hpp
 *  @brief A batch of pictures, clips or recordings through a model: chunks of whole items, from values to landed rows.
 *
 *  Where values come from is the caller's: the encoder knows no file, no pixel and no sound. A chunk asks for its values
 *  on the thread that then walks it through the tower, so that one thread decodes while another multiplies. An item
 *  without tokens is encoded as one PAD token, as an empty text is.
 */
#pragma once
#include <uform/encoder/entry.hpp>
#include <uform/encoder/landing.hpp>
#include <uform/utilities/stop.hpp>

namespace uform {

/** Answers the values of an item's tokens. */
struct token_source_t {
    /** Writes the first `tokens` [tokens, token values] of an item; from any thread, items at once. What takes long asks
     *  `stop`, and ends as `cancelled`. */
    failure_t (*fill)(void *self, std::size_t item, std::size_t tokens, bf16_t *values, stop_t stop) noexcept = nullptr;
    void *self = nullptr;
};

struct media_encode_job_t : encode_job_t {
    medium_t medium = medium_t::image_k;
    token_grid_t const *grids = nullptr; // [count]
    std::size_t count = 0;
    token_source_t source;
};

/** Fills token_offsets [count + 1] and answers how many items the context or their grid cuts. */
std::size_t measure_media(media_encode_job_t const &job, std::size_t *token_offsets) noexcept;

/** Runs the batch; on success every surface asked for is written whole. A failure names the item where one is at fault.
 */
failure_t encode_media(media_encode_job_t const &job, executor_t &executor) noexcept;

} // namespace uform
