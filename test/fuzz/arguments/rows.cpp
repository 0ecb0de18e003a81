/**
 *  @file rows.cpp
 *  @brief Reading what a call landed, by another way than the engine's own conversions.
 */
#include "world.hpp"

namespace uform_fuzz {
namespace {

/** A binary16 or a BFloat16 by its fields. */
double widen(std::uint16_t bits, int mantissa_bits) noexcept {
    int const exponent_bits = 15 - mantissa_bits, bias = (1 << (exponent_bits - 1)) - 1;
    int const exponent = bits >> mantissa_bits & ((1 << exponent_bits) - 1);
    double const fraction = double(bits & ((1 << mantissa_bits) - 1)) / double(1 << mantissa_bits);
    double const sign = bits & 0x8000 ? -1.0 : 1.0;
    if (exponent == (1 << exponent_bits) - 1) return fraction != 0 ? double(NAN) : sign * double(INFINITY);
    if (exponent == 0) return sign * std::ldexp(fraction, 1 - bias);
    return sign * std::ldexp(1 + fraction, exponent - bias);
}

/** How far from one the length of a unit row may be once each of its elements was rounded. */
double length_tolerance(uform_scalar_t scalar, std::size_t columns) noexcept {
    double const root = std::sqrt(double(columns));
    switch (scalar) {
    case uform_scalar_bf16_k:
        return std::ldexp(1.0, -8); // relative, half a unit of 8 bits
    case uform_scalar_f16_k:
        return std::ldexp(1.0, -11) + root * 0x1p-25; // and half the least subnormal
    case uform_scalar_i8_k:
        return root * 0.5 / 127; // half a step each
    default:
        return double(columns + 4) * std::ldexp(1.0, -24); // a sum of so many squares
    }
}

void check_matrix(void const *data, std::size_t stride, rows_check_t const &expected) {
    std::size_t const bytes = uform_scalar_bytes(expected.scalar);
    require(stride >= expected.columns * bytes, "a row's stride holds its columns");
    require(data || expected.count == 0, "rows have data");
    for (std::size_t row = 0; row < expected.count; ++row) {
        double squares = 0;
        for (std::size_t column = 0; column < expected.columns; ++column) {
            double const value = element(static_cast<char const *>(data) + row * stride, expected.scalar, column);
            require(std::isfinite(value), "NaN and infinity never land");
            squares += value * value;
        }
        if (!expected.unit) continue;
        double const tolerance = length_tolerance(expected.scalar, expected.columns);
        require(std::abs(std::sqrt(squares) - 1) <= tolerance, "unit rows have unit length");
    }
}

} // namespace

double element(void const *data, uform_scalar_t scalar, std::size_t at) noexcept {
    char const *const source = static_cast<char const *>(data) + at * uform_scalar_bytes(scalar);
    float wide = 0;
    std::uint16_t half = 0;
    switch (scalar) {
    case uform_scalar_f32_k:
        return std::memcpy(&wide, source, sizeof(wide)), double(wide);
    case uform_scalar_bf16_k:
        return std::memcpy(&half, source, sizeof(half)), widen(half, 7);
    case uform_scalar_f16_k:
        return std::memcpy(&half, source, sizeof(half)), widen(half, 10);
    case uform_scalar_i8_k:
        return double(static_cast<signed char>(*source)) / 127;
    default:
        return double(NAN);
    }
}

void check_rows(uform_rows_t const &rows, rows_check_t const &expected) {
    rows_check_t resolved = expected;
    if (resolved.scalar == uform_scalar_default_k) resolved.scalar = uform_scalar_f32_k;
    require(rows.count == resolved.count && rows.columns == resolved.columns, "rows have the sizes asked for");
    require(rows.scalar == resolved.scalar, "rows have the scalar asked for");
    check_matrix(rows.data, rows.stride, resolved);
}

void check_rows(uform_rows_tape_t const &rows, rows_check_t const &expected, std::size_t items) {
    check_rows(uform_rows_t {rows.data, rows.count, rows.columns, rows.stride, rows.scalar}, expected);
    require(rows.offsets && rows.offsets[0] == 0 && rows.offsets[items] == rows.count, "offsets cover the rows");
    for (std::size_t i = 0; i < items; ++i) require(rows.offsets[i] <= rows.offsets[i + 1], "offsets never decrease");
}

} // namespace uform_fuzz
