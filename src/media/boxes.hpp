/**
 *  @file boxes.hpp
 *  @brief Whether a clip's file is all there, without a library.
 */
#pragma once
#include "container.hpp"

namespace uform {

/** True where every outermost part of an MP4 or a WebM has all the bytes it says it has. */
bool is_whole_clip(container_format_t format, file_t file) noexcept;

} // namespace uform
