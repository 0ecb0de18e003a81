/**
 *  @file boxes.hpp
 *  @brief Whether an MP4 or a WebM is all there, without a library.
 */
#pragma once
#include <uform/media/file.hpp>

namespace uform {

/** True where every outermost box of an MP4 has all the bytes it says it has; each false as well where it was stopped. */
bool are_boxes_whole(file_t file, stop_t stop) noexcept;
/** True where no table of an MP4 tells of more entries than can be there. */
bool are_tables_held(file_t file, stop_t stop) noexcept;
/** True where every element of a WebM has, down to the parts of its clusters. */
bool are_elements_whole(file_t file, stop_t stop) noexcept;

} // namespace uform
