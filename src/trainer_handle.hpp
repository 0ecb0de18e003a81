/**
 *  @file trainer_handle.hpp
 *  @brief What `uform_trainer_t` points to, and the parts of its verbs that have a file of their own.
 */
#pragma once
#include <uform/train.h>

#include <cmath>

#include <uform/train/trainer.hpp>
#include <uform/utilities/hold.hpp>

struct uform_trainer_handle_t {
    uform::trainer_t trainer;
    uform_executor_t executor = nullptr; // every later verb names the same
    uform::hold_t hold;
};

namespace uform {

inline failure_t refuse(char const *message) noexcept { return fail(uform_status_invalid_argument_k, message); }
inline failure_t unsupported(char const *message) noexcept { return fail(uform_status_unsupported_k, message); }
inline failure_t of_item(failure_t failure, std::size_t item) noexcept {
    failure.item = item;
    return failure;
}
inline bool is_weight(float value) noexcept { return std::isfinite(value) && value >= 0; }
inline std::string_view text_of(uform_bytes_view_t view) noexcept {
    return {static_cast<char const *>(view.data), view.length};
}

/** Checks every option of a run and fills in its defaults: train_options.cpp. */
failure_t resolve(uform_trainer_init_ram_t const &call, trainer_options_t &options) noexcept;

/** Refuses choices that are not a step's to make: train_choices.cpp. */
failure_t check_step_choices(uform_trainer_step_t const &call, trainer_options_t const &options) noexcept;

/** The halves of `uform_trainer_step`: train_step.cpp. */
failure_t check_step(uform_trainer_step_t const &call) noexcept;
failure_t step(uform_trainer_step_t const &call, executor_t &executor) noexcept;

} // namespace uform
