/**
 *  @file model.hpp
 *  @brief A served model: geometry, weights packed for one CPU class, the rotary table. Immutable once loaded.
 */
#pragma once
#include <uform/encoder/kit.hpp>
#include <uform/encoder/packed_tower.hpp>
#include <uform/encoder/weights.hpp>
#include <uform/utilities/executor.hpp>

namespace uform {

class model_t {
  public:
    model_options_t options;
    kit_table_t const *kit = nullptr;
    uform_cpu_class_t cpu_class = uform_cpu_class_serial_k;
    uform_scalar_t quantization = uform_scalar_bf16_k; // what the blocks' matrices are stored as: bf16 or e4m3
    packed_tower_t<kit_table_t> tower;
    rotary_table_t<float> rotary;

    /** Checks every tensor the model uses and packs it, sharing units out over the executor. */
    [[nodiscard]] failure_t load(checkpoint_t const &checkpoint, uform_cpu_class_t cpu_class,
                                 uform_scalar_t quantization, executor_t &executor,
                                 uform_progress_t const &progress) noexcept;
    std::size_t bytes() const noexcept { return sizeof(*this) + tower.bytes() + rotary.bytes(); }
};

} // namespace uform
