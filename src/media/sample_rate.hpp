/**
 *  @file sample_rate.hpp
 *  @brief Mono samples at one rate → at another, by libswresample's windowed sinc; where both are one, a copy.
 *
 *  Output sample j stands for the time j / `to`, and there is one for every such time within the input. Samples go in
 *  by blocks of one size, however they come, so that a file and its samples in memory give the same bits.
 */
#pragma once
#include <uform/media/audio.hpp>

struct SwrContext;

namespace uform {

class rate_converter_t {
    static constexpr std::size_t block_k = 4096;

    SwrContext *context_ = nullptr; // null where samples are copied
    std::size_t from_ = 0, to_ = 0; // hertz
    std::span<float> output_;
    std::size_t written_ = 0;
    std::uint64_t taken_ = 0;
    float block_[block_k];
    std::size_t waiting_ = 0; // of block_

  public:
    rate_converter_t() noexcept = default;
    rate_converter_t(rate_converter_t const &) = delete;
    rate_converter_t &operator=(rate_converter_t const &) = delete;
    ~rate_converter_t() noexcept;

    failure_t start(std::size_t from, std::size_t to, std::span<float> output) noexcept;
    std::size_t rate() const noexcept { return from_; }
    /** True once nothing that comes could change the answer. */
    bool satisfied() const noexcept { return written_ == output_.size() && has_more(); }
    /** Refuses NaN and infinity. */
    failure_t take(std::span<float const> samples) noexcept;
    failure_t finish(sound_t &sound) noexcept;

  private:
    bool has_more() const noexcept { return samples_at(taken_, from_, to_) > output_.size(); }
    failure_t convert(float const *samples, std::size_t count) noexcept;
};

} // namespace uform
