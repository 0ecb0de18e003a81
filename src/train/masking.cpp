/**
 *  @file masking.cpp
 *  @brief The draws of the masked objective.
 */
#include <uform/train/masking.hpp>

#include <algorithm>
#include <limits>

#include <uform/encoder/geometry.hpp>
#include <uform/train/streams.hpp>
#include <uform/utilities/elementary.hpp>

namespace uform {
namespace {

constexpr std::uint64_t item_shift_k = 24;  // draws of one item: two per byte of at most 65536, two per span
constexpr std::uint16_t covered_k = 0x8000; // a mark on ids while spans are laid; no token reaches it

/** Geometric from one on, by inversion: P(length > n) = (1 - 1 / mean)^n. */
std::size_t span_length(double uniform_above_zero, double mean) noexcept {
    double const length = log_of(uniform_above_zero) / log_of(1.0 - 1.0 / mean);
    // Of a mean beyond 2^53 the logarithm is zero and the length infinite, of either sign, or not a number.
    return length >= 0 && length < 1e6 ? std::size_t(1) + std::size_t(length) : std::size_t(1000000);
}

void lay_spans(double mean, keyed_t const &keyed, std::uint64_t first_draw, std::size_t count, std::size_t target,
               std::uint16_t *ids) noexcept {
    std::uint64_t draw = first_draw + 1; // the first one rounded the target
    for (std::size_t covered = 0; covered < target; draw += 2) {
        std::size_t at = keyed.below(draw, std::uint32_t(count));
        while (ids[at] & covered_k) at = at + 1 == count ? 0 : at + 1;
        std::size_t const length = span_length((double(keyed.bits(draw + 1)) + 1) * 0x1p-32, mean);
        std::size_t const end = std::min(count, at + length);
        for (; at < end && covered < target; ++at)
            if (!(ids[at] & covered_k)) ids[at] |= covered_k, ++covered;
    }
}

bool is_share(float x) noexcept { return x >= 0 && x <= 1; }
bool is_weight(float x) noexcept { return x >= 0 && x <= std::numeric_limits<float>::max(); }

} // namespace

masking_t derive_masking(masking_t masking) noexcept {
    masking_t const defaults;
    auto derive = [&](float masking_t::*field) {
        if (masking.*field == 0) masking.*field = defaults.*field;
    };
    derive(&masking_t::token_mask_probability), derive(&masking_t::token_mean_span);
    derive(&masking_t::replace_fraction), derive(&masking_t::random_fraction);
    derive(&masking_t::image_mask_ratio), derive(&masking_t::video_mask_ratio), derive(&masking_t::audio_mask_ratio);
    derive(&masking_t::text_weight), derive(&masking_t::image_weight);
    derive(&masking_t::video_weight), derive(&masking_t::audio_weight);
    return masking;
}

failure_t validate_masking(masking_t const &masking) noexcept {
    char const *refusal = nullptr;
    if (!is_weight(masking.audio_weight)) refusal = "masking.audio_weight must be finite and not negative";
    if (!is_weight(masking.video_weight)) refusal = "masking.video_weight must be finite and not negative";
    if (!is_weight(masking.image_weight)) refusal = "masking.image_weight must be finite and not negative";
    if (!is_weight(masking.text_weight)) refusal = "masking.text_weight must be finite and not negative";
    if (!is_share(masking.audio_mask_ratio)) refusal = "masking.audio_mask_ratio must lie between 0 and 1";
    if (!is_share(masking.video_mask_ratio)) refusal = "masking.video_mask_ratio must lie between 0 and 1";
    if (!is_share(masking.image_mask_ratio)) refusal = "masking.image_mask_ratio must lie between 0 and 1";
    if (!is_share(masking.replace_fraction) || !is_share(masking.random_fraction) ||
        !(masking.replace_fraction + masking.random_fraction <= 1.0f + 0x1p-20f))
        refusal = "masking.replace_fraction and random_fraction must lie between 0 and 1, and so must their sum";
    if (!(masking.token_mean_span >= 1 && is_weight(masking.token_mean_span)))
        refusal = "masking.token_mean_span must be at least one byte";
    if (!is_share(masking.token_mask_probability)) refusal = "masking.token_mask_probability must lie between 0 and 1";
    return refusal ? fail(uform_status_invalid_argument_k, refusal) : failure_t {};
}

std::size_t corrupt_text(masking_t const &masking, mask_key_t const &key, std::span<std::uint8_t const> bytes,
                         std::uint16_t *ids, std::uint32_t *positions) noexcept {
    keyed_t const spans(key.seed, streams::text_spans_k, key.step), shown(key.seed, streams::text_bytes_k, key.step);
    std::uint64_t const first_draw = key.item << item_shift_k;
    for (std::size_t at = 0; at < bytes.size(); ++at) ids[at] = bytes[at];
    double const wanted = double(masking.token_mask_probability) * double(bytes.size()) + spans.uniform(first_draw);
    std::size_t const target = std::min(bytes.size(), std::size_t(wanted));
    lay_spans(masking.token_mean_span, spans, first_draw, bytes.size(), target, ids);

    std::size_t count = 0;
    for (std::size_t at = 0; at < bytes.size(); ++at) {
        if (!(ids[at] & covered_k)) continue;
        positions[count++] = std::uint32_t(at);
        double const kind = shown.uniform(first_draw + 2 * at);
        ids[at] = bytes[at];
        if (kind < masking.replace_fraction)
            ids[at] = mask_token_k;
        else if (kind < double(masking.replace_fraction) + double(masking.random_fraction))
            ids[at] = std::uint16_t(shown.below(first_draw + 2 * at + 1, byte_values_k));
    }
    return count;
}

std::size_t choose_masked(float ratio, std::uint32_t stream, mask_key_t const &key, std::size_t count,
                          std::uint32_t *chosen) noexcept {
    keyed_t const keyed(key.seed, stream, key.step);
    std::size_t const wanted = std::min(count, std::size_t(double(ratio) * double(count) + 0.5));
    std::size_t taken = 0;
    for (std::size_t unit = 0; unit < count && taken < wanted; ++unit) // algorithm S of Knuth, volume 2, 3.4.2
        if (keyed.uniform((key.item << item_shift_k) + unit) * double(count - unit) < double(wanted - taken))
            chosen[taken++] = std::uint32_t(unit);
    return taken;
}

} // namespace uform
