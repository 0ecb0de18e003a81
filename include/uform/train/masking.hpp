/**
 *  @file masking.hpp
 *  @brief Corrupting a batch for the masked objective: spans of bytes, and shares of patches, frames and tubes.
 *
 *  Text (SpanBERT, Joshi et al. 2020): spans of geometric length until a share of the bytes is covered, the last one
 *  cut. The count is floor(share * bytes + u), u keyed, so that short texts are covered at the same share in the mean.
 *  A start on a covered byte moves to the next clear one, so every draw covers something. Media (He et al. 2022): an
 *  exact count of units by selection sampling. Every draw is keyed by (seed, step, stream, the item's index in the
 *  world's step), never by where the item was packed.
 */
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include <uform/utilities/random.hpp>
#include <uform/utilities/status.hpp>

namespace uform {

struct masking_t {
    float token_mask_probability = 0.15f;
    float token_mean_span = 16;
    float replace_fraction = 0.8f;
    float random_fraction = 0.1f;
    float image_mask_ratio = 0.75f;
    float video_mask_ratio = 0.75f;
    float audio_mask_ratio = 0.75f;
    float text_weight = 1, image_weight = 1, video_weight = 1, audio_weight = 1;
};

/** Puts the defaults above where a field is zero. */
masking_t derive_masking(masking_t masking) noexcept;

/** Refuses shares outside [0, 1], a mean span below one byte, negative weights; asked after `derive_masking`. */
failure_t validate_masking(masking_t const &masking) noexcept;

struct mask_key_t {
    std::uint64_t seed;
    std::uint64_t step;
    std::uint64_t item; // in the world's step, below 2^40
};

/**
 *  ids [bytes] is set to what the model is shown, positions [bytes] begins with the covered ones, ascending; their
 *  count is answered. The targets are the bytes at those positions.
 */
std::size_t corrupt_text(masking_t const &masking, mask_key_t const &key, std::span<std::uint8_t const> bytes,
                         std::uint16_t *ids, std::uint32_t *positions) noexcept;

/** Chooses floor(ratio * count + 1/2) of `count` units, each set equally likely; chosen [count] begins with them. */
std::size_t choose_masked(float ratio, std::uint32_t stream, mask_key_t const &key, std::size_t count,
                          std::uint32_t *chosen) noexcept;

} // namespace uform
