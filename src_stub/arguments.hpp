/**
 *  @file arguments.hpp
 *  @brief The checks of arguments that verbs share; every refusal names the field.
 *
 *  Messages are static, so each check gets its field's messages from `UFORM_STUB_FIELD("texts")`: literals joined by
 *  the compiler, in the words of the engine.
 */
#pragma once
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <string>
#include <string_view>

#include <uform/types.h>

#include "failure.hpp"

namespace uform_stub {

struct field_t {
    char const *scalar, *too_many, *no_offsets, *decrease, *beyond, *no_data, *alignment, *length, *missing, *empty,
        *nul, *vectors_scalar, *no_rows, *no_columns, *stride, *vectors_alignment, *too_many_rows;
};
#define UFORM_STUB_FIELD(name)                                                                                         \
    ::uform_stub::field_t {                                                                                            \
        name ".scalar is not what the verb takes", name " has more items than can be addressed",                       \
            name ".offsets must not be NULL", name ".offsets must not decrease",                                       \
            name ".offsets end beyond any memory", name ".data must not be NULL where an item is not empty",           \
            name ".data is not aligned to its scalar", name ".length is beyond any memory",                            \
            name ".data must not be NULL", name " must not be empty", name " must not hold a NUL byte",                \
            name ".scalar must be f32, bf16, f16 or i8", name ".count is zero, and there is nothing to compare",       \
            name ".columns must be above zero", name ".stride is less than a row",                                     \
            name ".data or .stride is not aligned to its scalar", name ".count is more rows than can be addressed"     \
    }

inline void check_offsets(field_t const &field, std::size_t const *offsets, std::size_t count) {
    if (count > PTRDIFF_MAX / sizeof(std::size_t) - 1) refuse(field.too_many);
    if (!offsets) refuse(field.no_offsets);
    for (std::size_t i = 0; i < count; ++i)
        if (offsets[i + 1] < offsets[i])
            refuse(field.decrease,
                   "offsets[" + std::to_string(i) + "] is " + std::to_string(offsets[i]) + ", offsets[" +
                       std::to_string(i + 1) + "] is " + std::to_string(offsets[i + 1]),
                   i);
}

/** Accepts `count` items of `scalar`, or of no stated scalar. */
inline void check_tape(field_t const &field, uform_tape_view_t const &view, std::size_t count, uform_scalar_t scalar) {
    if (view.scalar != uform_scalar_default_k && view.scalar != scalar)
        refuse(field.scalar,
               std::string(uform_scalar_name(view.scalar)) + ", not " + std::string(uform_scalar_name(scalar)));
    if (count == 0) return;
    check_offsets(field, view.offsets, count);
    std::size_t const bytes = uform_scalar_bytes(scalar);
    if (view.offsets[count] > PTRDIFF_MAX / bytes) refuse(field.beyond);
    if (!view.data && view.offsets[count] != view.offsets[0]) refuse(field.no_data);
    if (reinterpret_cast<std::uintptr_t>(view.data) % bytes) refuse(field.alignment);
}

/** Accepts rows of vectors, at least one of them. */
template <typename view_>
void check_vectors(field_t const &field, view_ const &view) {
    std::size_t const bytes = uform_scalar_bytes(view.scalar);
    if (view.scalar != uform_scalar_f32_k && view.scalar != uform_scalar_bf16_k && view.scalar != uform_scalar_f16_k &&
        view.scalar != uform_scalar_i8_k)
        refuse(field.vectors_scalar, uform_scalar_name(view.scalar));
    if (view.count == 0) fail(uform_status_shape_mismatch_k, field.no_rows);
    if (view.columns == 0) fail(uform_status_shape_mismatch_k, field.no_columns);
    if (!view.data) refuse(field.missing);
    if (view.columns > PTRDIFF_MAX / bytes || view.stride < view.columns * bytes)
        fail(uform_status_shape_mismatch_k, field.stride,
             std::to_string(view.stride) + " bytes for " + std::to_string(view.columns) + " columns");
    if (view.stride % bytes || reinterpret_cast<std::uintptr_t>(view.data) % bytes) refuse(field.vectors_alignment);
    if (view.count > PTRDIFF_MAX / view.stride) refuse(field.too_many_rows);
}

/** Item i of a checked tape of bytes. */
inline std::string_view item_of(uform_tape_view_t const &view, std::size_t i) noexcept {
    if (!view.data) return {};
    return {static_cast<char const *>(view.data) + view.offsets[i], view.offsets[i + 1] - view.offsets[i]};
}

/** Accepts the legal bytes of item i, none of them twice. */
inline void check_twins(std::string_view choices, std::size_t i) {
    std::bitset<256> seen;
    for (unsigned char const choice : choices) {
        if (seen[choice]) refuse("choices of one item must be all different", {}, i);
        seen[choice] = true;
    }
}

inline std::string_view text_of(uform_bytes_view_t view) noexcept {
    return {static_cast<char const *>(view.data), view.length};
}

inline void check_bytes(field_t const &field, uform_bytes_view_t view) {
    if (view.length > PTRDIFF_MAX) refuse(field.length);
    if (!view.data && view.length) refuse(field.missing);
}

inline void check_path(field_t const &field, uform_bytes_view_t view, bool required) {
    check_bytes(field, view);
    if (view.length == 0 && required) refuse(field.empty);
    if (std::size_t const nul = text_of(view).find('\0'); nul != std::string_view::npos)
        refuse(field.nul, "at byte " + std::to_string(nul));
}

/** Accepts scalars that rows can land as; i8 is for unit rows alone. */
inline void check_outputs_scalar(uform_scalar_t scalar, bool unit_rows_only) {
    switch (scalar) {
    case uform_scalar_default_k:
    case uform_scalar_f32_k:
    case uform_scalar_bf16_k:
    case uform_scalar_f16_k:
        return;
    case uform_scalar_i8_k:
        if (unit_rows_only) return;
        unsupported("outputs_scalar i8 holds unit rows alone");
    default:
        refuse(unit_rows_only ? "outputs_scalar must be f32, bf16, f16 or i8"
                              : "outputs_scalar must be f32, bf16 or f16",
               uform_scalar_name(scalar));
    }
}

/** The stub carries the serial class alone; pins on others are refused as the engine refuses what it lacks. */
inline void check_class(uform_cpu_class_t cpu_class) {
    if (cpu_class == uform_cpu_class_derived_k || cpu_class == uform_cpu_class_serial_k) return;
    if (cpu_class < 0 || cpu_class > uform_cpu_class_wasm_simd_k)
        refuse("cpu_class is not a class", "cpu_class is " + std::to_string(cpu_class));
    unsupported("cpu_class has no kernels in this build", uform_cpu_class_name(cpu_class));
}

/** Nodes are asked of the system, as the engine asks; whether this process may use their cores is not. */
inline void check_domains(std::size_t const *domains, std::size_t count) {
    if (count && !domains) refuse("memory_domains must not be NULL");
    for (std::size_t i = 0; i < count; ++i)
        if (!std::ifstream("/sys/devices/system/node/node" + std::to_string(domains[i]) + "/cpulist"))
            refuse("memory_domains names a node this machine lacks",
                   "memory_domains[" + std::to_string(i) + "] is " + std::to_string(domains[i]));
}

} // namespace uform_stub
