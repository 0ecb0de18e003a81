/**
 *  @file recordings.hpp
 *  @brief Recordings without decoders: what a WAV's header tells of its length, and how many tokens samples make.
 */
#pragma once
#include <cstddef>
#include <string_view>

#include <uform/model.h>
#include <uform/types.h>

namespace uform_stub {

struct length_t {
    std::size_t samples = 0, sample_rate = 1;
};

/** The samples of a WAV's data chunk; one of other containers that the engine reads, which are not looked into. Refuses
 *  other content, headers cut short and files above the limits, naming the item. */
length_t read_length(std::string_view file, uform_limits_t const &limits, std::size_t item);

/** Chunks of a recording at the model's rate, before anything cuts them. */
std::size_t chunks_of(length_t length, uform_audio_shape_t const &shape) noexcept;

} // namespace uform_stub
