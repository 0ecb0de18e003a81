/**
 *  @file encode_audio.hpp
 *  @brief The audio verbs of `uform/encode.h`: what they refuse, and their work.
 */
#pragma once
#include <uform/encode.h>
#include <uform/utilities/call.hpp>

namespace uform {

failure_t check_audio_encode(uform_audio_encode_t const &call) noexcept;
failure_t audio_encode(uform_audio_encode_t const &call, executor_t &executor) noexcept;

failure_t check_audio_encode_samples(uform_audio_encode_samples_t const &call) noexcept;
failure_t audio_encode_samples(uform_audio_encode_samples_t const &call, executor_t &executor) noexcept;

} // namespace uform
