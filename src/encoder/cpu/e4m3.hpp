/**
 *  @file e4m3.hpp
 *  @brief E4M3 on processors without FP8: weights as panels of bytes, expanded one panel at a time; left rows rounded.
 *
 *  A panel of bytes has the order of tile.hpp's, [pairs][64 columns][2], at half the size. Every E4M3 value is exact in
 *  BFloat16, so both operands meet in the class's own BFloat16 tile and sums keep its order. The one word a class adds
 *  is `expand`; rounding is written over the words it has.
 */
#pragma once

/**
 *  Rounds a BFloat16 value to E4M3, nearest even, saturating. A sum with 2^20 |x| keeps four significant bits of x, and
 *  of two values equally near the even one, since 2^20 times 8 bits is an even multiple of the sum's last place; more
 *  bits than BFloat16's would not divide so. Below 2^-6 that place must be 2^-9, which 1.5 * 2^14 sees to for both
 *  signs. A NaN survives as the second operand of a comparison. Zeros lose their sign, which no sum can tell.
 */
inline f32x_t nearest_e4m3(f32x_t x) {
    x = larger(broadcast(-448.0f), smaller(broadcast(448.0f), x));
    f32x_t const magnitude = larger(x * broadcast(0x1p20f), x * broadcast(-0x1p20f));
    f32x_t const shift = larger(magnitude, broadcast(0x1.8p14f));
    return (x + shift) - shift;
}

struct round_step_t {
    bf16_t const *x;
    bf16_t *y;

    template <typename span_>
    void operator()(std::size_t i, span_ span) const {
        store_narrow(y + i, nearest_e4m3(load_narrow(x + i, span)), span);
    }
};

/** Left rows as they meet E4M3 weights, still stored as BFloat16, with a zero behind an odd depth. */
inline left_rows_t round_rows(bf16_t const *a, std::size_t rows, std::size_t inputs, bf16_t *staged) {
    std::size_t const stride = round_up(inputs, 2);
    for (std::size_t row = 0; row < rows; ++row) {
        each_vector(inputs, round_step_t {a + row * inputs, staged + row * stride});
        if (inputs % 2) staged[row * stride + inputs] = {};
    }
    return {staged, stride};
}

/** A panel of bytes as the panel of BFloat16 it stands for. */
inline void expand_panel(e4m3_t const *codes, std::size_t pairs, bf16_t *panel) {
    for (std::size_t pair = 0; pair < pairs; ++pair, codes += panel_stride_k, panel += panel_stride_k)
        for (std::size_t i = 0; i < panel_stride_k; i += expanded_k) expand(codes + i, panel + i);
}

constexpr std::size_t strip_pairs_k = 16; // packed at a time: 4 KiB of the stack

/** `pack_columns` into bytes: strips of a few pairs are packed as BFloat16, then rounded. */
inline void pack_columns(bf16_t const *source, std::size_t stride, std::size_t columns, std::size_t depth,
                         e4m3_t *panel) {
    alignas(64) bf16_t strip[strip_pairs_k * panel_stride_k] = {}; // zeros stay where columns are missing
    for (std::size_t first = 0; first < depth; first += 2 * strip_pairs_k) {
        std::size_t const depths = least(depth - first, 2 * strip_pairs_k);
        std::size_t const count = divide_up(depths, 2) * panel_stride_k;
        pack_columns(source + first, stride, columns, depths, strip);
        for (std::size_t i = 0; i < count; ++i) panel[i] = round_to_e4m3(widen(strip[i]));
        panel += count;
    }
}
