/**
 *  @file frame_rows.hpp
 *  @brief A decoded frame, as FFmpeg has it → rows of RGB of the size it is shown in.
 */
#pragma once
#include <uform/utilities/buffer.hpp>
#include <uform/utilities/status.hpp>

struct AVFrame;
struct SwsContext;

namespace uform {

/** What a frame's samples are, and where among those that were coded the shown ones lie. */
struct frame_shape_t {
    int format = -1;                  // AVPixelFormat, none of those that mean a range
    int matrix = 0, chroma = 0;       // AVColorSpace, AVChromaLocation, none of them unspecified
    bool full_range = false;
    std::size_t left = 0, top = 0;    // samples in front of the first one shown
    std::size_t width = 0, height = 0; // shown

    bool operator==(frame_shape_t const &) const noexcept = default;
};
frame_shape_t shape_of(AVFrame const &frame) noexcept;

/** Keeps its tables and its memory for frames that are alike. */
class frame_rows_t {
    frame_shape_t shape_;
    SwsContext *scaler_ = nullptr;
    std::size_t stride_ = 0;
    buffer_t<std::uint8_t> rows_; // [top + height, stride]: RGB of all from the first coded one on

  public:
    frame_rows_t() noexcept = default;
    frame_rows_t(frame_rows_t const &) = delete;
    frame_rows_t &operator=(frame_rows_t const &) = delete;
    ~frame_rows_t() noexcept;

    failure_t convert(AVFrame const &frame) noexcept;
    /** Row [width, 3] of the last frame. */
    std::uint8_t const *row(std::size_t i) const noexcept {
        return rows_.data() + (shape_.top + i) * stride_ + shape_.left * 3;
    }

  private:
    failure_t start(frame_shape_t const &shape) noexcept;
};

} // namespace uform
