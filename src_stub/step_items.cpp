/**
 *  @file step_items.cpp
 *  @brief Lengths of items by their modality.
 */
#include "step_items.hpp"

#include <algorithm>

#include "arguments.hpp"
#include "call.hpp"
#include "clips.hpp"
#include "pictures.hpp"
#include "recordings.hpp"

namespace uform_stub {

namespace {
constexpr std::size_t recording_limit_k = 512; // chunks of one recording
} // namespace

bool is_text(uform_trainer_step_t const &call, std::size_t i) noexcept {
    return !call.modalities || call.modalities[i] == uform_modality_text_k;
}
bool has_media(uform_trainer_step_t const &call) noexcept {
    for (std::size_t i = 0; i < call.count; ++i)
        if (!is_text(call, i)) return true;
    return false;
}
bool takes_part(uform_trainer_step_t const &call, options_t const &options, std::size_t i) noexcept {
    switch (call.modalities ? call.modalities[i] : uform_modality_text_k) {
    case uform_modality_text_k:
        return true;
    case uform_modality_image_k:
        return options.batch.image.patch_side;
    case uform_modality_video_k:
        return options.batch.video.patch_side;
    case uform_modality_audio_k:
        return options.batch.audio.chunk_samples;
    default:
        return false;
    }
}

bool asks(uform_trainer_step_t const &call, std::size_t i) noexcept {
    return call.choices.offsets && call.choices.offsets[i] != call.choices.offsets[i + 1];
}

lengths_t lengths_of(uform_trainer_step_t const &call, options_t const &options) {
    lengths_t lengths;
    for (std::size_t i = 0; i < call.count; ++i) {
        std::string_view const item = item_of(call.contents, i);
        if (is_text(call, i)) {
            lengths.add(item.size());
        } else if (call.modalities[i] == uform_modality_image_k) {
            lengths.add(patches_of(read_sides(item, call.limits, i), options.sizes.image.patch_side));
        } else if (call.modalities[i] == uform_modality_audio_k) {
            std::size_t const chunks = chunks_of(read_length(item, call.limits, i), options.sizes.audio);
            lengths.add(std::min(chunks, recording_limit_k), chunks > recording_limit_k);
        } else {
            tubes_t const tubes = tubes_of(read_clip(item, call.limits, i), options.sizes.video);
            lengths.add(tubes.tokens, tubes.is_cut);
        }
    }
    return lengths;
}

std::size_t tokens_of(uform_trainer_step_t const &call, lengths_t const &lengths, std::size_t i, std::size_t columns) {
    return std::clamp<std::size_t>(lengths[i] + asks(call, i), 1, columns);
}

std::size_t read_tokens_of(uform_trainer_step_t const &call, lengths_t const &lengths, std::size_t i,
                           std::size_t columns) {
    std::size_t const room = std::max<std::size_t>(columns - asks(call, i), 1);
    return std::clamp<std::size_t>(lengths[i], 1, room);
}

} // namespace uform_stub
