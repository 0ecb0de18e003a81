/**
 *  @file step_media.cpp
 *  @brief A step's files sorted by medium, measured, and decoded item by item as the trainer asks.
 */
#include "step_media.hpp"

namespace uform {
namespace {

std::size_t index_of(medium_t medium) noexcept { return std::size_t(medium); }

} // namespace

bool has_media(uform_trainer_step_t const &call) noexcept {
    for (std::size_t item = 0; call.modalities && item < call.count; ++item)
        if (call.modalities[item] != uform_modality_text_k) return true;
    return false;
}

/** Sorts the items by medium; false where memory is out. */
bool step_media_t::choose(uform_trainer_step_t const &call, executor_t &executor) noexcept {
    lane_t &lane = executor.wide_lane();
    std::uint32_t *const chosen = lane.claim<std::uint32_t>(call.count * media_k);
    places_ = lane.claim<std::uint32_t>(call.count), grids_ = lane.claim<token_grid_t>(call.count);
    if (lane.failed()) return false;
    modalities_ = call.modalities;
    for (std::size_t medium = 0; medium < media_k; ++medium) {
        std::uint32_t *const first = chosen + medium * call.count, *last = first;
        for (std::size_t item = 0; item < call.count; ++item) {
            if (call.modalities[item] != uform_modality_image_k + uform_modality_t(medium)) continue;
            places_[item] = std::uint32_t(last - first), *last++ = std::uint32_t(item);
        }
        chosen_[medium] = {first, last};
    }
    std::fill_n(grids_, call.count, token_grid_t {});
    return true;
}

template <typename files_>
failure_t step_media_t::place(medium_t medium, files_ &files, failure_t failure) noexcept {
    std::span<std::uint32_t const> const chosen = chosen_[index_of(medium)];
    if (failure.item != failure_t::no_item_k) failure.item = chosen[failure.item];
    if (failure) return failure;
    for (std::size_t i = 0; i < chosen.size(); ++i) grids_[chosen[i]] = files.grids()[i];
    sources_[index_of(medium)] = files.source();
    return {};
}

failure_t step_media_t::measure(uform_trainer_step_t const &call, model_options_t const &model, executor_t &executor,
                                step_items_t &items) noexcept {
    if (!has_media(call)) return {};
    if (!choose(call, executor)) return fail(uform_status_out_of_memory_k, "memory for the step's files is out");
    auto const files_of = [&](medium_t medium) {
        return tape_t<unsigned char>(call.contents, std::span<std::uint32_t const>(chosen_[index_of(medium)]));
    };
    tape_t<unsigned char> const recordings = files_of(medium_t::audio_k);
    pictures_.emplace(model.image, files_of(medium_t::image_k));
    clips_.emplace(model.video, files_of(medium_t::video_k), call.limits);
    recordings_.emplace(model.audio, recordings.size());
    failure_t failure = place(medium_t::image_k, *pictures_, pictures_->measure_files(call.limits, executor));
    if (!failure) failure = place(medium_t::video_k, *clips_, clips_->measure({}, executor));
    if (!failure)
        failure = place(medium_t::audio_k, *recordings_,
                        recordings_->measure_files(recordings, call.limits, {}, executor));
    if (failure) return failure;
    items.modalities = {modalities_, call.count}, items.grids = {grids_, call.count};
    items.source = {[](void *self, std::size_t item, std::size_t tokens, bf16_t *values, stop_t stop) noexcept {
                        return static_cast<step_media_t const *>(self)->fill(item, tokens, values, stop);
                    },
                    this};
    return {};
}

failure_t step_media_t::fill(std::size_t item, std::size_t tokens, bf16_t *values, stop_t stop) const noexcept {
    token_source_t const &source = sources_[modalities_[item] - uform_modality_image_k];
    return source.fill(source.self, places_[item], tokens, values, stop);
}

} // namespace uform
