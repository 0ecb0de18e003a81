/**
 *  @file engine.hpp
 *  @brief The C ABI's handles as move-only owners, and its outcomes as exceptions.
 *
 *  All a tool knows of the engine goes through here or through the verbs themselves; there is no state beside the
 *  handles.
 */
#pragma once
#include <string>
#include <string_view>
#include <utility>

#include <uform/uform.h>

namespace uform::tools {

/** Owns one handle of the C ABI. */
template <typename handle_, void (*free_)(handle_)> class owned_t {
  public:
    owned_t() noexcept = default;
    owned_t(owned_t &&other) noexcept : handle_value_(std::exchange(other.handle_value_, nullptr)) {}
    owned_t &operator=(owned_t &&other) noexcept {
        std::swap(handle_value_, other.handle_value_);
        return *this;
    }
    ~owned_t() noexcept { free_(handle_value_); }

    handle_ get() const noexcept { return handle_value_; }
    handle_ *out() noexcept { return &handle_value_; }

  private:
    handle_ handle_value_ = nullptr;
};

using executor_t = owned_t<uform_executor_t, uform_executor_free>;
using arena_t = owned_t<uform_arena_t, uform_arena_free>;
using model_t = owned_t<uform_model_t, uform_model_free>;
using mesh_t = owned_t<uform_mesh_t, uform_mesh_free>;
using trainer_t = owned_t<uform_trainer_t, uform_trainer_free>;

inline uform_bytes_view_t view(std::string_view bytes) noexcept { return {bytes.data(), bytes.size()}; }

/** Turns a failed outcome into an `tool_error_t`: what was tried, the status, its message, detail and item. A call that was
 *  cancelled by ctrl-C leaves quietly instead. `remedy` replaces the general one of the status. */
void check(uform_outcome_t const &outcome, std::string_view what, std::string_view remedy = {});

/** The class named by a flag; an empty name derives it. */
uform_cpu_class_t cpu_class_from(std::string const &name);

executor_t make_executor(std::size_t threads, uform_cpu_class_t cpu_class);
arena_t make_arena(executor_t const &executor);
model_t load_model(std::string const &path, executor_t const &executor);
/** From a checkpoint's bytes; `path` is what failures call them. */
model_t load_model_bytes(std::string_view bytes, std::string const &path, executor_t const &executor);
uform_model_description_t describe(model_t const &model);

} // namespace uform::tools
