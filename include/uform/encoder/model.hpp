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

/** What a checkpoint is loaded as, and where. */
struct model_target_t {
    uform_cpu_class_t cpu_class;                       // resolved
    uform_scalar_t quantization = uform_scalar_bf16_k; // of the blocks' matrices: bf16 or e4m3
    domains_t domains;                                 // of the packed weights
};

class model_t {
  public:
    model_options_t options;
    kit_table_t const *kit = nullptr;
    uform_cpu_class_t cpu_class = uform_cpu_class_serial_k;
    uform_scalar_t quantization = uform_scalar_bf16_k; // what the blocks' matrices are stored as: bf16 or e4m3
    packed_tower_t<kit_table_t> tower;
    rotary_table_t<float> rotary;
    buffer_t<float> choice_scales; // [choice groups]: inverse temperatures; empty where none are stored

    /** Checks every tensor the model uses and packs it, sharing units out over the executor. */
    [[nodiscard]] failure_t load(checkpoint_t const &checkpoint, model_target_t const &target, executor_t &executor,
                                 uform_progress_t const &progress) noexcept;
    std::size_t bytes() const noexcept {
        return sizeof(*this) + tower.bytes() + rotary.bytes() + choice_scales.size() * sizeof(float);
    }
};

} // namespace uform
