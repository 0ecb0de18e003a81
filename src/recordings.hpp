/**
 *  @file recordings.hpp
 *  @brief Where media and encoder meet: a batch of recordings, as files or as samples, → grids → chunks of samples.
 *
 *  How long a recording is its decoder alone knows, after the fact: what containers tell is rounded, or wrong. So files
 *  are decoded as they are measured, over the executor's threads. What came of them is kept where there is room, 32 KB
 *  a second, and made again as its turn comes where there is none; the bits are the same.
 */
#pragma once
#include <atomic>

#include <uform/encoder/media_encode.hpp>
#include <uform/media/audio.hpp>
#include <uform/utilities/arguments.hpp>
#include <uform/utilities/progress.hpp>

namespace uform {

class recordings_t {
    audio_entry_t entry_;
    std::size_t count_ = 0;
    tape_t<unsigned char> files_;
    uform_limits_t limits_ {};
    tape_t<float> samples_;          // instead of files
    std::size_t sample_rate_ = 0;    // of samples_
    token_grid_t *grids_ = nullptr;  // [count]
    bf16_t const **kept_ = nullptr;  // [count]: samples of a file at the model's rate; null: not kept
    std::size_t *lengths_ = nullptr; // [count]: how many there are of them
    bf16_t *room_ = nullptr;         // [room_values_]: what is kept, in the order it came
    std::size_t room_values_ = 0;
    std::atomic<std::size_t> taken_ {0}; // of room_; beyond its end where it did not suffice

  public:
    recordings_t(audio_entry_t entry, std::size_t count) noexcept : entry_(entry), count_(count) {}

    /** Decodes all files over the executor's threads; a failure names its item, unless the handler stopped it. Grids
     *  stay in the call's scratch. */
    failure_t measure_files(tape_t<unsigned char> files, uform_limits_t const &limits, uform_progress_t handler,
                            executor_t &executor) noexcept;
    failure_t measure_samples(tape_t<float> samples, std::size_t sample_rate, executor_t &executor) noexcept;
    token_grid_t const *grids() const noexcept { return grids_; }

    /** The first tokens [tokens, chunk samples] of an item, the last of them filled up with zeros. */
    failure_t fill(std::size_t item, std::size_t tokens, bf16_t *values, stop_t stop = {}) const noexcept;
    token_source_t source() noexcept {
        return {[](void *self, std::size_t item, std::size_t tokens, bf16_t *values, stop_t stop) noexcept {
                    return static_cast<recordings_t const *>(self)->fill(item, tokens, values, stop);
                },
                this};
    }

  private:
    std::size_t most_samples() const noexcept { return audio_chunks_k * entry_.chunk_samples; }
    bool claim(executor_t &executor) noexcept;
    bool claim_room(executor_t &executor) noexcept;
    failure_t measure(std::size_t item, progress_t &progress, lane_t &lane) noexcept;
    void keep(std::size_t item, bf16_t const *values, std::size_t count) noexcept;
    token_grid_t grid_of(std::uint64_t samples, bool has_more) const noexcept;
};

} // namespace uform
