/**
 *  @file exp.hpp
 *  @brief Exponentials and logarithms of whole vectors: what softmax and SiLU are made of.
 *
 *  2^r on [-1/2, 1/2] is a polynomial of degree six, minimax in relative error with its value at zero kept exact: off
 *  by 2.6e-9 before rounding, so the answers below are within two units in the last place of float.
 */
#pragma once

constexpr float log2_e_k = 1.44269504f;        // log2(e), rounded
constexpr float log2_e_rest_k = 1.9259630e-8f; // what the rounding lost
constexpr float ln_2_k = 0.693147181f;

// Adding 1.5 * 2^23 rounds to an integer, which is then in the low bits of the sum, ready to be moved into an exponent.
constexpr float rounding_shift_k = 0x1.8p23f;
constexpr float exponent_limit_k = 126.0f;

/** 2^r of a small r, times two to the integer in the low bits of `shifted`. */
inline f32x_t power_of_two(f32x_t r, f32x_t shifted) {
    f32x_t p = broadcast(1.5594678e-4f);
    p = multiply_add(p, r, broadcast(1.3406643e-3f));
    p = multiply_add(p, r, broadcast(9.617693e-3f));
    p = multiply_add(p, r, broadcast(5.5503104e-2f));
    p = multiply_add(p, r, broadcast(0.24022652f));
    p = multiply_add(p, r, broadcast(0.69314724f));
    p = multiply_add(p, r, broadcast(1.0f));
    return add_to_exponent(p, shifted);
}

/** 2^x for x below 127; what is below -126 counts as -126, a weight too small to be seen beside one. */
inline f32x_t exp2_of(f32x_t x) {
    f32x_t const held = larger(broadcast(-exponent_limit_k), x);
    f32x_t const shifted = held + broadcast(rounding_shift_k);
    return power_of_two(held - (shifted - broadcast(rounding_shift_k)), shifted);
}

/** Natural logarithm of a positive normal x: 2 atanh((m - 1) / (m + 1)) for m within a factor of sqrt(2) of one. */
inline f32x_t log_of(f32x_t x) {
    f32x_t const mantissa = mantissa_of(x), root = broadcast(1.41421356f);
    f32x_t const m = where_greater(mantissa, root, mantissa * broadcast(0.5f), mantissa);
    f32x_t const power = exponent_of(x) + where_greater(mantissa, root, broadcast(1.0f), zero());
    f32x_t const s = (m - broadcast(1.0f)) / (m + broadcast(1.0f)), z = s * s;
    f32x_t p = broadcast(2.0f / 9);
    p = multiply_add(p, z, broadcast(2.0f / 7));
    p = multiply_add(p, z, broadcast(2.0f / 5));
    p = multiply_add(p, z, broadcast(2.0f / 3));
    p = multiply_add(p, z, broadcast(2.0f));
    return multiply_add(power, broadcast(ln_2_k), p * s);
}

/**
 *  1 + e^-x, what a logistic divides by; the argument is held where e^-x neither overflows nor vanishes, and a NaN
 *  stays one. The product with log2(e) keeps its rounding error, so large arguments lose nothing.
 */
inline f32x_t one_plus_exp_of_minus(f32x_t x) {
    f32x_t const held = smaller(broadcast(87.0f), larger(broadcast(-87.0f), x));
    f32x_t const shifted = multiply_add(held, broadcast(-log2_e_k), broadcast(rounding_shift_k));
    f32x_t const r = multiply_add(held, broadcast(-log2_e_k), broadcast(rounding_shift_k) - shifted);
    return broadcast(1.0f) + power_of_two(multiply_add(held, broadcast(-log2_e_rest_k), r), shifted);
}
