/**
 *  @file recordings.cpp
 *  @brief From files or samples to the values of chunks.
 */
#include "recordings.hpp"

#include <uform/utilities/executor.hpp>

namespace uform {
namespace {

constexpr std::size_t room_limit_k = std::size_t(1) << 27; // values: 256 MiB, 2.3 hours at 16 kHz

failure_t out_of_memory() noexcept {
    return fail(uform_status_out_of_memory_k, "memory for decoding a recording is out");
}

/** Rounds samples to what the tower reads; what is beyond BFloat16, NaN too, is refused. */
failure_t narrow(std::span<float const> samples, bf16_t *values) noexcept {
    for (std::size_t i = 0; i < samples.size(); ++i) {
        values[i] = round_to_bf16(samples[i]);
        if ((values[i].bits & 0x7f80u) == 0x7f80u)
            return fail(uform_status_malformed_k, "a sample is NaN or infinite", "sample %zu", i);
    }
    return {};
}

} // namespace

token_grid_t recordings_t::grid_of(std::uint64_t samples, bool has_more) const noexcept {
    std::uint64_t const chunks = (samples + entry_.chunk_samples - 1) / entry_.chunk_samples;
    token_grid_t grid {1, 1};
    grid.layers = std::size_t(std::min<std::uint64_t>(chunks, audio_chunks_k));
    grid.is_cut = has_more || chunks > audio_chunks_k;
    return grid;
}

bool recordings_t::claim(executor_t &executor) noexcept {
    lane_t &lane = executor.wide_lane();
    grids_ = lane.claim<token_grid_t>(count_ + 1), lengths_ = lane.claim<std::size_t>(count_ + 1);
    kept_ = lane.claim<bf16_t const *>(count_ + 1);
    return grids_ && lengths_ && kept_;
}

/** Room for all, where that is not too much: of memory nobody writes to, the system gives addresses alone. */
bool recordings_t::claim_room(executor_t &executor) noexcept {
    room_values_ = count_ > room_limit_k / most_samples() ? room_limit_k : count_ * most_samples();
    room_ = executor.wide_lane().claim<bf16_t>(room_values_ + 1);
    return room_ != nullptr;
}

void recordings_t::keep(std::size_t item, bf16_t const *values, std::size_t count) noexcept {
    std::size_t const at = taken_.fetch_add(count, std::memory_order_relaxed);
    if (at > room_values_ || count > room_values_ - at) return;
    std::copy_n(values, count, room_ + at);
    kept_[item] = room_ + at;
}

failure_t recordings_t::measure(std::size_t item, progress_t &progress, lane_t &lane) noexcept {
    float *const samples = lane.scratch.claim<float>(most_samples());
    bf16_t *const values = lane.scratch.claim<bf16_t>(most_samples());
    if (!samples || !values) return out_of_memory();
    asker_t asker(progress, lane);
    recording_t const recording {files_[item], limits_, entry_.sample_rate, asker.stop()};
    sound_t sound;
    failure_t failure = decode_audio(recording, {samples, most_samples()}, sound);
    if (!failure) failure = narrow({samples, sound.samples}, values);
    if (failure) return failure;
    lengths_[item] = sound.samples, kept_[item] = nullptr;
    grids_[item] = grid_of(sound.samples, sound.has_more);
    keep(item, values, sound.samples);
    progress.advance(0, lane);
    return {};
}

failure_t recordings_t::measure_files(tape_t<unsigned char> files, uform_limits_t const &limits,
                                      uform_progress_t handler, executor_t &executor) noexcept {
    files_ = files, limits_ = limits;
    if (!claim(executor)) return out_of_memory();
    if (count_ == 0) return {}; // of a model without an entry too, whose chunks have no samples
    if (!claim_room(executor)) return out_of_memory();
    progress_t progress(handler, count_);
    return executor.deal(count_, [&](std::size_t item, lane_t &lane) {
        failure_t failure = measure(item, progress, lane);
        if (failure)
            failure.item = item, lane.fail(failure); // where the handler stopped it, the lane has failed of that
    });
}

failure_t recordings_t::measure_samples(tape_t<float> samples, std::size_t sample_rate, executor_t &executor) noexcept {
    samples_ = samples, sample_rate_ = sample_rate;
    if (!claim(executor)) return out_of_memory();
    for (std::size_t item = 0; item < count_; ++item) {
        std::uint64_t const length = samples_at(samples_[item].size(), sample_rate, entry_.sample_rate);
        lengths_[item] = std::size_t(std::min<std::uint64_t>(length, most_samples())), kept_[item] = nullptr;
        grids_[item] = grid_of(length, false);
    }
    return {};
}

failure_t recordings_t::fill(std::size_t item, std::size_t tokens, bf16_t *values, stop_t stop) const noexcept {
    std::size_t const room = tokens * entry_.chunk_samples, count = std::min(lengths_[item], room);
    std::fill(values + count, values + room, bf16_t {});
    if (kept_[item]) return std::copy_n(kept_[item], count, values), failure_t {};
    std::span<float const> const given = samples_[item];
    if (sample_rate_ == entry_.sample_rate) return narrow(given.first(count), values);
    buffer_t<float> samples;
    sound_t sound;
    if (!samples.resize(most_samples())) return out_of_memory();
    failure_t failure = sample_rate_
                            ? convert_rate(given, sample_rate_, entry_.sample_rate, samples.span(), sound)
                            : decode_audio({files_[item], limits_, entry_.sample_rate, stop}, samples.span(), sound);
    if (!failure && sound.samples != lengths_[item])
        failure = fail(uform_status_internal_k, "a recording decodes differently each time");
    return failure ? failure : narrow(samples.span().first(count), values);
}

} // namespace uform
