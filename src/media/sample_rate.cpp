/**
 *  @file sample_rate.cpp
 *  @brief libswresample behind rate_converter_t.
 *
 *  Its own defaults, written out so that another version's change nothing: a sinc of 32 zero crossings under a Kaiser
 *  window (β 9), cut off at 0.97 of the lower Nyquist frequency. In front of the first sample and behind the last it
 *  reads the recording mirrored.
 */
#include <algorithm>
#include <climits>
#include <cmath>

extern "C" {
#include <libavutil/channel_layout.h>
#include <libavutil/opt.h>
#include <libswresample/swresample.h>
}

#include "container.hpp"
#include "sample_rate.hpp"

namespace uform {
namespace {

failure_t out_of_memory() noexcept {
    return fail(uform_status_out_of_memory_k, "memory for converting a sample rate is out");
}

/** Settings of the filter; false where one could not be made. */
bool set_filter(SwrContext *context) noexcept {
    return av_opt_set_int(context, "filter_size", 32, 0) >= 0 && av_opt_set_int(context, "phase_shift", 10, 0) >= 0 &&
           av_opt_set_int(context, "linear_interp", 0, 0) >= 0 &&
           av_opt_set_int(context, "exact_rational", 1, 0) >= 0 && av_opt_set_double(context, "cutoff", 0.97, 0) >= 0 &&
           av_opt_set_int(context, "filter_type", SWR_FILTER_TYPE_KAISER, 0) >= 0 &&
           av_opt_set_double(context, "kaiser_beta", 9, 0) >= 0;
}

} // namespace

rate_converter_t::~rate_converter_t() noexcept { swr_free(&context_); }

failure_t rate_converter_t::start(std::size_t from, std::size_t to, std::span<float> output) noexcept {
    from_ = from, to_ = to, output_ = output;
    if (from == 0 || from > sample_rate_limit_k)
        return fail(uform_status_malformed_k, "the sample rate is no recording's", "%zu hertz", from);
    if (from == to) return {};
    AVChannelLayout mono = AV_CHANNEL_LAYOUT_MONO;
    AVSampleFormat const scalar = AV_SAMPLE_FMT_FLTP;
    if (swr_alloc_set_opts2(&context_, &mono, scalar, int(to), &mono, scalar, int(from), 0, nullptr) < 0 ||
        !set_filter(context_))
        return out_of_memory();
    // It calls a filter that is too long a lack of memory as well; a real one `with_memory_watched` sees.
    if (swr_init(context_) >= 0) return {};
    return fail(uform_status_unsupported_layout_k, "no filter leads from this sample rate to the model's",
                "from %zu to %zu hertz", from, to);
}

failure_t rate_converter_t::convert(float const *samples, std::size_t count) noexcept {
    std::uint8_t *target = reinterpret_cast<std::uint8_t *>(output_.data() + written_);
    auto const *source = reinterpret_cast<std::uint8_t const *>(samples);
    if (written_ == output_.size()) return {};
    int const room = int(std::min<std::size_t>(output_.size() - written_, INT_MAX));
    int const got = swr_convert(context_, &target, room, samples ? &source : nullptr, int(count));
    if (got < 0) return out_of_memory();
    written_ += std::size_t(got);
    return {};
}

failure_t rate_converter_t::take(std::span<float const> samples) noexcept {
    for (float const sample : samples)
        if (!std::isfinite(sample)) return fail(uform_status_malformed_k, "a sample is NaN or infinite");
    taken_ += samples.size();
    if (!context_) {
        std::size_t const count = std::min(samples.size(), output_.size() - written_);
        std::copy_n(samples.data(), count, output_.data() + written_);
        written_ += count;
        return {};
    }
    while (!samples.empty()) {
        std::size_t const count = std::min(samples.size(), block_k - waiting_);
        std::copy_n(samples.data(), count, block_ + waiting_);
        samples = samples.subspan(count), waiting_ += count;
        if (waiting_ < block_k) break;
        waiting_ = 0;
        if (failure_t const failure = convert(block_, block_k)) return failure;
    }
    return {};
}

failure_t rate_converter_t::finish(sound_t &sound) noexcept {
    std::size_t const wanted = std::size_t(std::min<std::uint64_t>(samples_at(taken_, from_, to_), output_.size()));
    if (context_ && written_ < wanted) {
        if (failure_t const failure = convert(block_, waiting_)) return failure;
        if (failure_t const failure = convert(nullptr, 0)) return failure;
    }
    for (; written_ < wanted; ++written_) output_[written_] = 0; // its last sample may fall short by one
    for (std::size_t i = 0; context_ && i < wanted; ++i) // what is huge may have no place in a float once filtered
        if (!std::isfinite(output_[i])) return fail(uform_status_malformed_k, "a sample is NaN or infinite");
    sound.samples = wanted, sound.has_more = has_more();
    return {};
}

failure_t convert_rate(std::span<float const> from, std::size_t from_rate, std::size_t sample_rate,
                       std::span<float> samples, sound_t &sound) noexcept {
    return with_memory_watched([&] {
        quiet_t const quiet;
        rate_converter_t converter;
        failure_t failure = converter.start(from_rate, sample_rate, samples);
        std::size_t const block = 1 << 14;
        for (std::size_t at = 0; !failure && at < from.size() && !converter.satisfied(); at += block)
            failure = converter.take(from.subspan(at, std::min(block, from.size() - at)));
        return failure ? failure : converter.finish(sound);
    });
}

} // namespace uform
