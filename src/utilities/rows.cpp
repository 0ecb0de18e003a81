/**
 *  @file rows.cpp
 *  @brief Landing conversions, written once over the source's load and the target's store.
 */
#include <uform/utilities/rows.hpp>

#include <cmath>

namespace uform {

std::uint16_t round_to_f16(float x) noexcept {
    std::uint32_t const bits = std::bit_cast<std::uint32_t>(x), sign = bits >> 16 & 0x8000u, magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u) return std::uint16_t(sign | 0x7e00u);
    if (magnitude >= 0x477ff000u) return std::uint16_t(sign | 0x7c00u); // 65520 and beyond round to infinity
    if (magnitude >= 0x38800000u) {                                    // normal: rebias by 112, drop 13 bits
        std::uint32_t const rebiased = magnitude - (112u << 23);
        return std::uint16_t(sign | (rebiased + 0xfffu + (rebiased >> 13 & 1u)) >> 13);
    }
    // Subnormal: adding 0.5 puts the result's last bit where float rounds to nearest even.
    float const shifted = std::bit_cast<float>(magnitude) + 0.5f;
    return std::uint16_t(sign | (std::bit_cast<std::uint32_t>(shifted) - 0x3f000000u));
}

float widen_f16(std::uint16_t bits) noexcept {
    std::uint32_t const sign = std::uint32_t(bits & 0x8000u) << 16, magnitude = bits & 0x7fffu;
    if (magnitude >= 0x7c00u) return std::bit_cast<float>(sign | 0x7f800000u | (magnitude & 0x3ffu) << 13);
    if (magnitude >= 0x0400u) return std::bit_cast<float>(sign | ((magnitude << 13) + (112u << 23)));
    return std::copysign(float(magnitude) * 0x1p-24f, std::bit_cast<float>(sign));
}

namespace {

bool is_finite(float x) noexcept { return (std::bit_cast<std::uint32_t>(x) & 0x7f800000u) != 0x7f800000u; }
float load(float x) noexcept { return x; }
float load(bf16_t x) noexcept { return widen(x); }

template <typename source_, typename target_, typename store_>
bool convert(source_ const *row, std::size_t columns, target_ *target, store_ const &store) noexcept {
    bool finite = true;
    for (std::size_t i = 0; i < columns; ++i) {
        float const value = load(row[i]);
        finite &= is_finite(value);
        target[i] = store(value);
    }
    return finite;
}

/** Sixteen bits a value, which rounding may have made infinite: `exponent` is the field that is then all ones. */
template <typename source_, typename store_>
bool land_halves(source_ const *row, std::size_t columns, void *target, unsigned exponent,
                 store_ const &store) noexcept {
    auto *halves = static_cast<std::uint16_t *>(target);
    bool finite = convert(row, columns, halves, store);
    for (std::size_t i = 0; i < columns; ++i) finite &= (halves[i] & exponent) != exponent;
    return finite;
}

template <typename source_>
bool land(uform_scalar_t scalar, source_ const *row, std::size_t columns, void *target) noexcept {
    switch (scalar) {
    case uform_scalar_f32_k:
        return convert(row, columns, static_cast<float *>(target), [](float x) { return x; });
    case uform_scalar_bf16_k:
        return land_halves(row, columns, target, 0x7f80u, [](float x) { return round_to_bf16(x).bits; });
    case uform_scalar_f16_k:
        return land_halves(row, columns, target, 0x7c00u, round_to_f16);
    case uform_scalar_i8_k:
        return convert(row, columns, static_cast<std::int8_t *>(target), [](float x) {
            float const scaled = std::nearbyint(x * 127.0f);
            return std::int8_t(scaled > 127 ? 127 : scaled < -127 ? -127 : scaled == scaled ? scaled : 0);
        });
    default: return false; // refused at the door
    }
}

} // namespace

bool land_row(uform_scalar_t scalar, float const *row, std::size_t columns, void *target) noexcept {
    return land(scalar, row, columns, target);
}
bool land_row(uform_scalar_t scalar, bf16_t const *row, std::size_t columns, void *target) noexcept {
    return land(scalar, row, columns, target);
}

} // namespace uform
