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
    packed_tower_t<kit_table_t> tower;
    rotary_table_t<float> rotary;

    /** Checks every tensor the model uses and packs it, sharing units out over the executor. */
    [[nodiscard]] failure_t load(checkpoint_t const &checkpoint, uform_cpu_class_t cpu_class, executor_t &executor,
                                 domains_t const &domains, uform_progress_t const &progress) noexcept;
    std::size_t bytes() const noexcept { return sizeof(*this) + tower.bytes() + rotary.bytes(); }
};

} // namespace uform
