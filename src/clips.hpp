/**
 *  @file clips.hpp
 *  @brief Where media and encoder meet: a batch of clips → grids with times → tubes.
 *
 *  A clip's grid is known once its frames are counted, which its packets tell without decoding them. Frames are decoded
 *  as the chunk they are in is filled, by the thread that then walks it, each straight into the cells of its tube.
 */
#pragma once
#include <uform/encoder/media_encode.hpp>
#include <uform/media/resample.hpp>
#include <uform/media/video.hpp>
#include <uform/utilities/arguments.hpp>
#include <uform/utilities/hold.hpp>
#include <uform/utilities/progress.hpp>

namespace uform {

class clips_t {
    video_entry_t entry_;
    tape_t<unsigned char> files_;
    uform_limits_t limits_;
    token_grid_t *grids_ = nullptr; // [count]
    std::size_t *frames_ = nullptr; // [count]: sampled
    lock_t lock_;                   // of the scratch that times are claimed from

  public:
    clips_t(video_entry_t entry, tape_t<unsigned char> files, uform_limits_t const &limits) noexcept
        : entry_(entry), files_(files), limits_(limits) {}

    /** Counts frames over the executor's threads; a failure names its item, unless the handler stopped it. Grids stay in
     *  the call's scratch. */
    failure_t measure(uform_progress_t handler, executor_t &executor) noexcept;
    token_grid_t const *grids() const noexcept { return grids_; }

    /** Decodes, resamples and cuts into tubes. */
    failure_t fill(std::size_t item, std::size_t tokens, bf16_t *tubes, stop_t stop = {}) const noexcept;
    token_source_t source() noexcept {
        return {[](void *self, std::size_t item, std::size_t tokens, bf16_t *tubes, stop_t stop) noexcept {
                    return static_cast<clips_t const *>(self)->fill(item, tokens, tubes, stop);
                },
                this};
    }

  private:
    failure_t measure_clip(std::size_t item, progress_t &progress, lane_t &lane, scratch_t &scratch) noexcept;
};

} // namespace uform
