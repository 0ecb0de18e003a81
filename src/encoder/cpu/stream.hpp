/**
 *  @file stream.hpp
 *  @brief Walks any number of elements in whole vectors and one partial vector, for operations written once for both.
 */
#pragma once

struct whole_t {};
struct part_t {
    std::size_t count;
};

inline f32x_t load(float const *x, whole_t) { return load(x); }
inline f32x_t load(float const *x, part_t part) { return load_part(x, part.count); }
inline f32x_t load_narrow(bf16_t const *x, whole_t) { return load_narrow(x); }
inline f32x_t load_narrow(bf16_t const *x, part_t part) { return load_narrow_part(x, part.count); }
inline f32x_t load_f16(std::uint16_t const *x, whole_t) { return load_f16(x); }
inline f32x_t load_f16(std::uint16_t const *x, part_t part) {
    alignas(64) std::uint16_t staged[lanes_k] = {};
    std::memcpy(staged, x, part.count * sizeof(std::uint16_t));
    return load_f16(staged);
}
inline void store(float *y, f32x_t x, whole_t) { store(y, x); }
inline void store(float *y, f32x_t x, part_t part) { store_part(y, x, part.count); }
inline void store_narrow(bf16_t *y, f32x_t x, whole_t) { store_narrow(y, x); }
inline void store_narrow(bf16_t *y, f32x_t x, part_t part) { store_narrow_part(y, x, part.count); }

/** Calls `step(first, span)` over [0, count). Steps are structs: a lambda would not inherit the target region in clang.
 */
template <typename step_>
void each_vector(std::size_t count, step_ const &step) {
    std::size_t i = 0;
    for (; i + lanes_k <= count; i += lanes_k) step(i, whole_t {});
    if (i < count) step(i, part_t {count - i});
}
