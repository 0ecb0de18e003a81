/**
 *  @file sample_rate.cpp
 *  @brief What links where FFmpeg is not built: samples at the model's own rate alone, which take no filter.
 */
#include <algorithm>
#include <cmath>

#include <uform/media/audio.hpp>

namespace uform {

failure_t convert_rate(std::span<float const> from, std::size_t from_rate, std::size_t sample_rate,
                       std::span<float> samples, sound_t &sound) noexcept {
    if (from_rate != sample_rate)
        return fail(uform_status_unsupported_k,
                    "this build converts no sample rates; configure with -DUFORM_WITH_FFMPEG=ON");
    std::size_t const count = std::min(from.size(), samples.size());
    for (float const sample : from.first(count))
        if (!std::isfinite(sample)) return fail(uform_status_malformed_k, "a sample is NaN or infinite");
    std::copy_n(from.data(), count, samples.data());
    sound.samples = count, sound.has_more = from.size() > count;
    return {};
}

} // namespace uform
