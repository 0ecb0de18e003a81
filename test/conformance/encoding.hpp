/**
 *  @file encoding.hpp
 *  @brief A model, an arena and a text-encode call over them, and what landed copied out of the arena.
 */
#pragma once
#include <bit>
#include <cmath>

#include "checkpoints.hpp"
#include "conformance.hpp"

namespace conformance {

/** A whole PNG of 4 x 1 grey pixels. */
inline std::string const wide_png_k(
    "\211\120\116\107\015\012\032\012\000\000\000\015\111\110\104\122\000\000\000\004\000\000\000\001\010\000"
    "\000\000\000\334\127\120\021\000\000\000\015\111\104\101\124\170\234\143\140\144\142\146\001\000\000\031"
    "\000\013\347\132\106\244\000\000\000\000\111\105\116\104\256\102\140\202",
    70);

inline float widened(std::byte const *row, uform_scalar_t scalar, std::size_t i) {
    std::uint16_t half;
    float value;
    switch (scalar) {
    case uform_scalar_f32_k:
        std::memcpy(&value, row + 4 * i, 4);
        return value;
    case uform_scalar_bf16_k:
        std::memcpy(&half, row + 2 * i, 2);
        return std::bit_cast<float>(std::uint32_t(half) << 16);
    case uform_scalar_f16_k: {
        std::memcpy(&half, row + 2 * i, 2);
        int const exponent = half >> 10 & 31, fraction = half & 1023;
        EXPECT_NE(exponent, 31) << "neither infinity nor NaN lands";
        value = exponent ? std::ldexp(float(1024 + fraction), exponent - 25) : std::ldexp(float(fraction), -24);
        return half & 0x8000 ? -value : value;
    }
    case uform_scalar_i8_k:
        return float(static_cast<std::int8_t>(row[i])) / 127;
    default:
        ADD_FAILURE() << "scalar " << scalar;
        return 0;
    }
}

/** Rows as they landed: their bits, and their values. */
struct landed_t {
    std::string bits; // without the stride's padding
    std::vector<std::vector<float>> rows;
    std::vector<std::size_t> offsets;

    landed_t() = default;
    template <typename view_>
    explicit landed_t(view_ const &view) {
        auto const *data = static_cast<std::byte const *>(view.data);
        std::size_t const bytes = view.columns * uform_scalar_bytes(view.scalar);
        EXPECT_GE(view.stride, bytes);
        EXPECT_TRUE(data || view.count == 0);
        for (std::size_t i = 0; i < view.count; ++i) {
            std::byte const *row = data + i * view.stride;
            bits.append(reinterpret_cast<char const *>(row), bytes);
            rows.emplace_back(view.columns);
            for (std::size_t j = 0; j < view.columns; ++j) rows[i][j] = widened(row, view.scalar, j);
        }
    }
};

/** What one call asked for and got. */
struct encoded_t {
    outcome_t outcome;
    uform_rows_t embeddings {};
    uform_rows_tape_t states {}, token_vectors {};
    uform_text_encode_stats_t stats {};
};

/** A model with a token head and a context of 64, its texts, and the right call over them. */
class encoding_t {
  public:
    model_t model;
    arena_t arena;
    tape_t texts;

    explicit encoding_t(std::vector<std::string> const &list = {"Hello, world", "", "zwei"},
                        std::size_t token_width = 24)
        : texts(list) {
        load_bytes(model, checkpoint_t(token_width).bytes());
        make_arena(arena);
    }
    /** Every surface, wherever `got` is. */
    uform_text_encode_t call(encoded_t &got) const {
        uform_text_encode_t call {};
        call.model = model, call.outcome = &got.outcome, call.texts = texts.view(), call.count = texts.count();
        call.embeddings = &got.embeddings, call.states = &got.states, call.token_vectors = &got.token_vectors;
        call.arena = arena, call.stats = &got.stats;
        return call;
    }
};

inline void expect_unit(std::vector<float> const &row, double tolerance) {
    double squares = 0;
    for (float const value : row) squares += double(value) * value;
    EXPECT_NEAR(squares, 1, tolerance);
}

} // namespace conformance
