/**
 *  @file names.hpp
 *  @brief Enumerators and their spellings, as the C ABI gives and takes them.
 *
 *  Each enum has one table; `name_in` and `value_in` walk it, so a name and its reading cannot drift apart. The tables
 *  of hardware classes live in this module because refusals spell classes too.
 */
#pragma once
#include <cstdint>
#include <span>

#include <uform/types.h>

namespace uform {

struct named_t {
    std::int32_t value;
    char const *name;
};

/** The spelling of `value`, or "unknown". */
char const *name_in(std::span<named_t const> names, std::int32_t value) noexcept;
/** The value spelled `name`, or -1, which every enum of the ABI keeps for this. */
std::int32_t value_in(std::span<named_t const> names, uform_bytes_view_t name) noexcept;

std::span<named_t const> status_names() noexcept;
std::span<named_t const> scalar_names() noexcept;
std::span<named_t const> cpu_class_names() noexcept;
std::span<named_t const> gpu_class_names() noexcept;

inline char const *name_of_scalar(uform_scalar_t x) noexcept { return name_in(scalar_names(), x); }
inline char const *name_of_cpu_class(uform_cpu_class_t x) noexcept { return name_in(cpu_class_names(), x); }

} // namespace uform
