/**
 *  @file amx.hpp
 *  @brief The words of `src/encoder/cpu/amx.hpp` over arrays of a thread, as the Software Developer's Manual has them.
 *
 *  What a processor answers by a fault is counted: words before a configuration, shapes that do not match, registers
 *  used twice, reserved bytes that are set. So is every configuration that is not released, and every foreign byte is
 *  read for real, so that AddressSanitizer sees it.
 */
#pragma once

struct emulated_tile_t {
    std::size_t rows = 0, row_bytes = 0;
    alignas(64) unsigned char bytes[16][64] = {};
};
struct emulated_tiles_t {
    bool configured = false;
    emulated_tile_t tiles[8];
};
static thread_local emulated_tiles_t emulated_tiles;
static std::atomic<long> emulated_faults {0}, emulated_live {0}, emulated_products {0};

inline void fault_if(bool wrong) {
    if (wrong) ++emulated_faults;
}

/** LDTILECFG: palette at 0, the row to start at at 1, bytes of a row from 16 on, rows from 48; the rest is reserved. */
inline void tile_configure(void const *shapes) {
    unsigned char bytes[64];
    std::memcpy(bytes, shapes, sizeof(bytes));
    fault_if(bytes[0] != 1 || bytes[1] != 0);
    for (int i = 2; i < 64; ++i)
        if (i < 16 || (i >= 32 && i < 48) || i >= 56) fault_if(bytes[i] != 0);
    emulated_live += !emulated_tiles.configured;
    emulated_tiles = {};
    emulated_tiles.configured = true;
    for (int tile = 0; tile < 8; ++tile) {
        emulated_tiles.tiles[tile].row_bytes = bytes[16 + 2 * tile] + 256u * bytes[17 + 2 * tile];
        emulated_tiles.tiles[tile].rows = bytes[48 + tile];
        fault_if(emulated_tiles.tiles[tile].row_bytes > 64 || emulated_tiles.tiles[tile].rows > 16);
    }
}
inline void tile_release() {
    emulated_live -= emulated_tiles.configured;
    emulated_tiles = {};
}

inline emulated_tile_t &tile_numbered(int number) {
    fault_if(!emulated_tiles.configured || !emulated_tiles.tiles[number].rows);
    return emulated_tiles.tiles[number];
}

template <int tile_>
void tile_zero() {
    emulated_tile_t &tile = tile_numbered(tile_);
    std::memset(tile.bytes, 0, sizeof(tile.bytes));
}
template <int tile_>
void tile_load(void const *rows, std::size_t stride_bytes) {
    emulated_tile_t &tile = tile_numbered(tile_);
    std::memset(tile.bytes, 0, sizeof(tile.bytes));
    for (std::size_t row = 0; row < tile.rows; ++row)
        std::memcpy(tile.bytes[row], static_cast<unsigned char const *>(rows) + row * stride_bytes, tile.row_bytes);
}
template <int tile_>
void tile_store(void *rows, std::size_t stride_bytes) {
    emulated_tile_t const &tile = tile_numbered(tile_);
    for (std::size_t row = 0; row < tile.rows; ++row)
        std::memcpy(static_cast<unsigned char *>(rows) + row * stride_bytes, tile.bytes[row], tile.row_bytes);
}

/** Denormals are zeros of their sign, read or written. */
inline float flushed(float x) { return __builtin_fabsf(x) < 0x1p-126f ? __builtin_copysignf(0.0f, x) : x; }
inline float multiply_add_flushed(float a, float b, float c) {
    return flushed(__builtin_fmaf(flushed(a), flushed(b), flushed(c)));
}
inline float half_of_pair(unsigned char const *pair, int half) {
    std::uint32_t const bits = std::uint32_t(pair[2 * half] | pair[2 * half + 1] << 8) << 16;
    float value;
    std::memcpy(&value, &bits, sizeof(value));
    return value;
}

/** TDPBF16PS: even depths and odd ones apart, from zero upwards; then even + odd; then that to the sum. */
inline void multiply_row(emulated_tile_t &sums, emulated_tile_t const &left, emulated_tile_t const &right,
                         std::size_t row) {
    float halves[2][16] = {};
    for (std::size_t pair = 0; pair < left.row_bytes / 4; ++pair)
        for (int half = 0; half < 2; ++half) {
            float const factor = half_of_pair(left.bytes[row] + 4 * pair, half);
            for (std::size_t column = 0; column < sums.row_bytes / 4; ++column)
                halves[half][column] = multiply_add_flushed(factor, half_of_pair(right.bytes[pair] + 4 * column, half),
                                                            halves[half][column]);
        }
    for (std::size_t column = 0; column < sums.row_bytes / 4; ++column) {
        float sum;
        std::memcpy(&sum, sums.bytes[row] + 4 * column, sizeof(sum));
        sum = flushed(flushed(sum) + flushed(halves[0][column] + halves[1][column]));
        std::memcpy(sums.bytes[row] + 4 * column, &sum, sizeof(sum));
    }
}
template <int sums_, int left_, int right_>
void tile_multiply() {
    static_assert(sums_ != left_ && sums_ != right_ && left_ != right_, "an invalid instruction");
    emulated_tile_t &sums = tile_numbered(sums_);
    emulated_tile_t const &left = tile_numbered(left_), &right = tile_numbered(right_);
    fault_if(left.row_bytes / 4 != right.rows || left.rows != sums.rows || right.row_bytes != sums.row_bytes);
    for (std::size_t row = 0; row < sums.rows; ++row) multiply_row(sums, left, right, row);
    ++emulated_products;
}
