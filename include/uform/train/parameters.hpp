/**
 *  @file parameters.hpp
 *  @brief Everything a run learns: masters, gradient slabs, Adafactor moments, one allocation each, bound to the tower.
 *
 *  Gradients live in slabs. Each slab sums a fixed part of the batch in the batch's order, and slabs are added in their
 *  own order, so a step's bits follow from the batch alone, whatever the threads. More slabs let more threads go
 *  backward at once and cost four bytes a parameter each, hence a count that depends on the model's size alone.
 */
#pragma once
#include <uform/encoder/initialize.hpp>
#include <uform/encoder/tensors.hpp>
#include <uform/encoder/tower.hpp>
#include <uform/encoder/weights.hpp>
#include <uform/train/optimizer.hpp>
#include <uform/utilities/executor.hpp>

namespace uform {

class parameters_t {
  public:
    static constexpr std::size_t slabs_limit_k = 8;
    static constexpr std::size_t slab_floats_k = std::size_t(1) << 26; // of all slabs together: 256 MiB

    /** Allocates the masters; they are zero until `draw` or a checkpoint fills them. */
    [[nodiscard]] failure_t allocate(model_options_t const &options) noexcept;
    /** Allocates gradients and moments, once: a model that is only drawn and saved needs neither. */
    [[nodiscard]] failure_t allocate_gradients() noexcept;
    /** Draws every tensor from the initialization's seed, rows shared out over the executor. */
    [[nodiscard]] failure_t draw(initialization_t const &initialization, executor_t &executor) noexcept;
    /** Copies a checkpoint's tensor where shape and scalar agree; false where they do not. */
    [[nodiscard]] bool copy_master(tensor_spec_t const &spec, tensor_t const &tensor) noexcept;

    model_options_t const &options() const noexcept { return options_; }
    std::span<tensor_spec_t const> specs() const noexcept { return specs_.span(); }
    masters_t<float> const &masters() const noexcept { return masters_; }
    std::size_t elements() const noexcept { return elements_; }
    std::size_t slabs() const noexcept { return slabs_; }

    std::span<std::byte const> master_bytes(std::size_t tensor) const noexcept;
    bf16_t *narrow(std::size_t tensor) const noexcept { return narrow_.data() + master_offsets_[tensor]; }
    float *wide(std::size_t tensor) const noexcept { return wide_.data() + master_offsets_[tensor]; }
    float *gradient(std::size_t tensor) const noexcept { return gradients_.data() + gradient_offsets_[tensor]; }
    std::span<float> moments(std::size_t tensor) const noexcept;
    std::span<tensor_view_t const> views() const noexcept { return views_.span(); }

    /** The index of a tensor of that name, or `absent_k`. */
    static constexpr std::size_t absent_k = SIZE_MAX;
    std::size_t find(std::string_view name) const noexcept;

    tower_gradients_t<float> const &tower_gradients(std::size_t slab) const noexcept { return towers_[slab]; }
    /** Clears a slab's matrices of blocks, which the first backward would set, or all else, which every one adds to. */
    void clear_matrices(std::size_t slab) noexcept { clear(slab, true); }
    void clear_others(std::size_t slab) noexcept { clear(slab, false); }
    /** Adds slabs 1 … used − 1 onto slab 0, in that order, for elements [first, last). */
    void reduce(std::size_t used, std::size_t first, std::size_t last) noexcept;

    parameters_t() noexcept = default;

  private:
    [[nodiscard]] bool bind_gradients(std::size_t slab) noexcept;
    tensor_view_t view_of(tensor_spec_t const &spec) const noexcept;
    void clear(std::size_t slab, bool matrices_of_blocks) noexcept;

    model_options_t options_;
    buffer_t<tensor_spec_t> specs_;
    buffer_t<std::size_t> master_offsets_;   // [tensors], into narrow_ or wide_
    buffer_t<std::size_t> gradient_offsets_; // [tensors], into a slab
    buffer_t<std::size_t> moment_offsets_;   // [tensors]
    buffer_t<bf16_t> narrow_;
    buffer_t<float> wide_;
    buffer_t<float> gradients_; // [slabs, elements]
    buffer_t<float> moments_;
    buffer_t<tensor_view_t> views_; // [tensors]
    masters_t<float> masters_;
    tower_gradients_t<float> towers_[slabs_limit_k];
    std::size_t elements_ = 0; // of one slab
    std::size_t moments_count_ = 0;
    std::size_t slabs_ = 0;
};

} // namespace uform
