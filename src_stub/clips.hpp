/**
 *  @file clips.hpp
 *  @brief What a clip's file says of its frames: their sides, and how many there are. Nothing is decoded.
 */
#pragma once
#include <cstddef>
#include <string_view>

#include <uform/model.h>

namespace uform_stub {

struct clip_t {
    std::size_t height = 0, width = 0, frames = 0;
};
/** Reads an MP4's boxes or a WebM's elements; refuses one that is cut short, or above the limits, naming its item. */
clip_t read_clip(std::string_view file, uform_limits_t const &limits, std::size_t item);

struct tubes_t {
    std::size_t tokens = 0;
    bool is_cut = false; // there are frames behind the last tube
};
tubes_t tubes_of(clip_t const &clip, uform_video_shape_t const &shape) noexcept;

} // namespace uform_stub
