/**
 *  @file streams.hpp
 *  @brief The numbers of training's keyed draws, so that no two uses read the same words of a step.
 *
 *  Tensors take the streams from 2^31 on, by name (`stream_of_name`), for initialization at step 0 and for rounding at
 *  the steps that follow. A number, once a run was trained with it, keeps its meaning.
 */
#pragma once
#include <cstdint>

namespace uform::streams {

inline constexpr std::uint32_t text_spans_k = 16; // where spans of bytes start, how long they are
inline constexpr std::uint32_t text_bytes_k = 17; // what a covered byte shows
inline constexpr std::uint32_t image_masks_k = 18;
inline constexpr std::uint32_t video_masks_k = 19;
inline constexpr std::uint32_t audio_masks_k = 20;
inline constexpr std::uint32_t lipschitz_k = 21; // the power iteration's start

} // namespace uform::streams
