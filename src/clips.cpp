/**
 *  @file clips.cpp
 *  @brief From files to the values of tubes.
 */
#include "clips.hpp"

#include "cells.hpp"

namespace uform {
namespace {

failure_t out_of_memory() noexcept { return fail(uform_status_out_of_memory_k, "memory for decoding a clip is out"); }

/** Every so many frames one is sampled, and so many sampled ones are a tube. */
struct sampling_t {
    video_entry_t entry;
    std::size_t shown = 0; // frames so far

    /** Takes the next frame; true where it is sampled, `sample` then being its number. */
    bool take(std::size_t &sample) noexcept {
        sample = shown / entry.frame_stride;
        return shown++ % entry.frame_stride == 0;
    }
};

/** Counts frames: what grid they make, and where on the axis of time its layers begin. */
class clip_counter_t {
    sampling_t sampling_;
    lane_t &lane_;
    std::size_t most_layers_ = 0;

  public:
    token_grid_t grid;
    std::size_t samples = 0;
    double *times = nullptr; // [layers]

    clip_counter_t(video_entry_t entry, lane_t &lane) noexcept : sampling_ {entry}, lane_(lane) { grid.layers = 0; }

    frame_sink_t sink() noexcept {
        return {[](void *self, clip_frame_t const &frame) noexcept {
                    return static_cast<clip_counter_t *>(self)->see(frame);
                },
                nullptr, this};
    }

  private:
    frame_wish_t see(clip_frame_t const &frame) noexcept {
        if (!times && !start(frame)) return frame_wish_t::stop_k;
        std::size_t const tube_frames = sampling_.entry.tube_frames;
        std::size_t sample;
        if (!sampling_.take(sample)) return frame_wish_t::skip_k;
        if (sample == most_layers_ * tube_frames) {
            grid.is_cut = true;
            return frame_wish_t::stop_k;
        }
        if (sample % tube_frames == 0) times[grid.layers++] = positions_a_second_k * frame.seconds;
        samples = sample + 1;
        return frame_wish_t::skip_k;
    }
    bool start(clip_frame_t const &frame) noexcept {
        std::size_t const side = sampling_.entry.patch_side;
        grid = patch_grid_of(frame.upright_height(), frame.upright_width(), side, frame_patches_k), grid.layers = 0;
        most_layers_ = clip_tubes_k / (grid.rows * grid.columns);
        return (times = lane_.claim<double>(most_layers_)) != nullptr;
    }
};

/** One clip on its way into tubes [layer, row, column], each [channel, frame, row, column]. */
class tube_writer_t {
    sampling_t sampling_;
    token_grid_t grid_;
    std::size_t samples_; // that the grid was made of
    bf16_t *tubes_;
    std::size_t limit_; // values of all tubes that the context takes

    clip_frame_t frame_; // whose rows come
    std::size_t sample_ = 0, seen_ = 0;
    bool is_out_of_memory_ = false;
    resampling_t shape_;
    resampler_t resampler_;
    buffer_t<std::size_t> rows_; // [stored rows]: offsets
    placer_t placer_;

  public:
    tube_writer_t(video_entry_t entry, token_grid_t const &grid, std::size_t samples, std::size_t tokens,
                  bf16_t *tubes) noexcept
        : sampling_ {entry}, grid_(grid), samples_(samples), tubes_(tubes), limit_(tokens * entry.token_values()) {
        std::size_t const fitting = (tokens + layer_tokens() - 1) / layer_tokens() * entry.tube_frames;
        samples_ = std::min(samples_, fitting);
    }

    frame_sink_t sink() noexcept {
        return {[](void *self, clip_frame_t const &frame) noexcept {
                    return static_cast<tube_writer_t *>(self)->see(frame);
                },
                [](void *self, std::uint8_t const *row) noexcept {
                    static_cast<tube_writer_t *>(self)->resampler_.take(row);
                },
                this};
    }
    /** Once all frames are in: a last tube that is short of frames repeats its last one. */
    failure_t end() noexcept {
        if (is_out_of_memory_) return out_of_memory();
        if (seen_ != samples_)
            return fail(uform_status_malformed_k, "frames of the clip do not decode", "%zu of %zu", samples_ - seen_,
                        samples_);
        while (seen_ % sampling_.entry.tube_frames) repeat(seen_++);
        return {};
    }

  private:
    std::size_t layer_tokens() const noexcept { return grid_.rows * grid_.columns; }
    std::size_t frame_values() const noexcept { return sampling_.entry.patch_side * sampling_.entry.patch_side; }
    /** Where a sample's values begin in the first token of its layer. */
    std::size_t begin_of(std::size_t sample) const noexcept {
        std::size_t const tube_frames = sampling_.entry.tube_frames;
        return sample / tube_frames * layer_tokens() * sampling_.entry.token_values() +
               sample % tube_frames * frame_values();
    }

    frame_wish_t see(clip_frame_t const &frame) noexcept {
        std::size_t sample;
        if (!sampling_.take(sample)) return frame_wish_t::skip_k;
        if (sample >= samples_) return frame_wish_t::stop_k;
        bool const is_alike = seen_ && frame.width == shape_.width && frame.height == shape_.height;
        if (is_alike)
            resampler_.restart();
        else if (!start(frame)) {
            is_out_of_memory_ = true;
            return frame_wish_t::stop_k;
        }
        sample_ = sample, seen_ = sample + 1;
        return seen_ == samples_ ? frame_wish_t::last_rows_k : frame_wish_t::rows_k;
    }
    bool start(clip_frame_t const &frame) noexcept {
        cells_t const cells(sampling_.entry, grid_, frame.orientation);
        shape_.width = frame.width, shape_.height = frame.height;
        shape_.columns = cells.stored_columns(), shape_.rows = cells.stored_rows();
        if (!rows_.resize(shape_.rows) || !placer_.start(cells)) return false;
        for (std::size_t row = 0; row < shape_.rows; ++row) rows_[row] = cells.of_row(row);
        return resampler_.start(shape_, {[](void *self, std::size_t row, double const *values) noexcept {
                                             static_cast<tube_writer_t *>(self)->place(row, values);
                                         },
                                         this});
    }
    void place(std::size_t row, double const *levels) noexcept {
        std::size_t const from = begin_of(sample_) + rows_[row];
        std::size_t const plane = frame_values() * sampling_.entry.tube_frames;
        for (std::size_t c = 0; c < shape_.channels; ++c)
            placer_.place(levels + c * shape_.columns, from + c * plane, limit_, tubes_);
    }
    /** Fills a sample of each tube of the last layer with the one before. */
    void repeat(std::size_t sample) noexcept {
        std::size_t const plane = frame_values() * sampling_.entry.tube_frames;
        std::size_t const token = sampling_.entry.token_values(), begin = begin_of(sample);
        for (std::size_t i = 0; i < layer_tokens() && begin + i * token < limit_; ++i)
            for (std::size_t c = 0; c < shape_.channels; ++c) {
                bf16_t *const to = tubes_ + begin + i * token + c * plane;
                std::copy_n(to - frame_values(), frame_values(), to);
            }
    }
};

} // namespace

failure_t clips_t::measure(uform_progress_t handler, executor_t &executor) noexcept {
    lane_t &shared = executor.wide_lane();
    grids_ = shared.claim<token_grid_t>(files_.size() + 1), frames_ = shared.claim<std::size_t>(files_.size() + 1);
    if (!grids_ || !frames_) return out_of_memory();
    progress_t progress(handler, files_.size());
    return executor.deal(files_.size(), [&](std::size_t item, lane_t &lane) {
        failure_t failure = measure_clip(item, progress, lane, shared.scratch);
        if (failure)
            failure.item = item, lane.fail(failure); // where the handler stopped it, the lane has failed of that
    });
}

failure_t clips_t::measure_clip(std::size_t item, progress_t &progress, lane_t &lane, scratch_t &scratch) noexcept {
    clip_counter_t counter(entry_, lane);
    asker_t asker(progress, lane);
    if (failure_t const failure =
            decode_clip({files_[item], limits_, asker.stop()}, clip_pass_t::count_k, counter.sink()))
        return failure;
    if (!counter.times) return out_of_memory();
    lock_.lock();
    double *const times = scratch.claim<double>(counter.grid.layers); // of the call, where the lane's is of the item
    lock_.unlock();
    if (!times) return out_of_memory();
    std::copy_n(counter.times, counter.grid.layers, times);
    grids_[item] = counter.grid, grids_[item].times = times, frames_[item] = counter.samples;
    return {};
}

failure_t clips_t::fill(std::size_t item, std::size_t tokens, bf16_t *tubes, stop_t stop) const noexcept {
    tube_writer_t writer(entry_, grids_[item], frames_[item], tokens, tubes);
    if (failure_t const failure = decode_clip({files_[item], limits_, stop}, clip_pass_t::rows_k, writer.sink()))
        return failure;
    return writer.end();
}

} // namespace uform
