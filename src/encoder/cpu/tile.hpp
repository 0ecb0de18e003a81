/**
 *  @file tile.hpp
 *  @brief The register tile every product of a CPU class is made of, and the loops that cover a block with it.
 *
 *  Included inside a class unit's target region, after its vocabulary; it includes nothing and knows no instruction.
 *
 *  A right operand is a panel of 64 columns, depth by pairs:
 *
 *      panel [pairs][64 columns][2]:  element (depth d, column c) at (d / 2) * 128 + c * 2 + d % 2
 *
 *  so that one load brings two neighbouring depths of `lanes_k` columns. A left operand yields pairs of depths too, by
 *  broadcast. An output element is one accumulator that walks the depth upwards, whatever tile it falls in: that is
 *  what makes a row's result independent of the rows beside it.
 */
#pragma once

constexpr std::size_t panel_columns_k = 64;
constexpr std::size_t panel_stride_k = 2 * panel_columns_k; // elements from one pair of depths to the next

constexpr std::size_t least(std::size_t a, std::size_t b) { return a < b ? a : b; }
constexpr std::size_t divide_up(std::size_t a, std::size_t b) { return (a + b - 1) / b; }
constexpr std::size_t round_up(std::size_t a, std::size_t b) { return divide_up(a, b) * b; }

/** Scratch in whole cache lines. The local element type keeps the allocator's template out of the symbol table. */
struct alignas(64) line_t {
    unsigned char bytes[64];
};
template <typename element_>
element_ *claim(lane_t &lane, std::size_t count) {
    return reinterpret_cast<element_ *>(lane.claim<line_t>(divide_up(count * sizeof(element_), sizeof(line_t))));
}

/** A left operand kept row by row: pair p of row r at data + r * stride + 2 p. */
struct left_rows_t {
    bf16_t const *data;
    std::size_t stride;

    bf16_t const *at(std::size_t row) const { return data + row * stride; }
    left_rows_t from(std::size_t row) const { return {data + row * stride, stride}; }
    void next() { data += 2; }
};

/** A left operand kept as a panel, its rows where a right operand has columns: pair p of row r at data + 128 p + 2 r.
 */
struct left_panel_t {
    bf16_t const *data;

    bf16_t const *at(std::size_t row) const { return data + 2 * row; }
    left_panel_t from(std::size_t row) const { return {data + 2 * row}; }
    void next() { data += panel_stride_k; }
};

/** Operands in float: a panel is [depth][64 columns], and a unit is one depth instead of a pair of them. */
struct wide_rows_t {
    float const *data;
    std::size_t stride;

    float const *at(std::size_t row) const { return data + row * stride; }
    wide_rows_t from(std::size_t row) const { return {data + row * stride, stride}; }
    void next() { ++data; }
};
inline left_rows_t rows_of(bf16_t const *data, std::size_t stride) { return {data, stride}; }
inline wide_rows_t rows_of(float const *data, std::size_t stride) { return {data, stride}; }
inline f32x_t load_right(float const *x) { return load(x); }
inline f32x_t broadcast_pair(float const *x) { return broadcast(*x); }
inline f32x_t add_product(f32x_t sum_f32x, f32x_t left_f32x, f32x_t right_f32x) {
    return multiply_add(left_f32x, right_f32x, sum_f32x);
}

/** Elements of one column in one unit of a panel. */
constexpr std::size_t unit_of(bf16_t const *) { return 2; }
constexpr std::size_t unit_of(float const *) { return 1; }

/** Rows of a tile of such operands. */
template <typename element_>
constexpr std::size_t rows_of_tile_k = tile_rows_k;

/** Sums kept in memory between calls, in float. `adds_` continues them, otherwise they are set; `far_` stores them past
 *  the caches, where they are not read again before those have seen much else. */
template <bool adds_, bool far_ = false>
struct sums_sink_t {
    static constexpr bool continues_k = adds_;
    float *sums; // [rows, 64] at `stride`
    std::size_t stride;

    sums_sink_t from(std::size_t row, std::size_t column) const { return {sums + row * stride + column, stride}; }
    f32x_t start(std::size_t row, std::size_t column) const {
        if constexpr (adds_) return load(sums + row * stride + column);
        return zero();
    }
    void finish(std::size_t row, std::size_t column, f32x_t sum) const {
        if constexpr (far_)
            store_far(sums + row * stride + column, sum);
        else
            store(sums + row * stride + column, sum);
    }
};

/**
 *  The tile itself: up to 24 accumulators live in registers, so both loops over them must unroll completely. `columns_`
 *  are those of the panel, whatever the tile takes of them.
 */
template <std::size_t rows_, std::size_t vectors_, std::size_t columns_, typename left_, typename element_,
          typename sink_>
void multiply_tile(left_ left, element_ const *panel, std::size_t units, sink_ sink) {
    constexpr std::size_t unit = unit_of(static_cast<element_ const *>(nullptr));
    f32x_t sums_f32x[rows_][vectors_];
#pragma GCC unroll 16
    for (std::size_t row = 0; row < rows_; ++row)
#pragma GCC unroll 16
        for (std::size_t vector = 0; vector < vectors_; ++vector)
            sums_f32x[row][vector] = sink.start(row, vector * lanes_k);
    for (std::size_t i = 0; i < units; ++i, left.next(), panel += unit * columns_) {
        decltype(load_right(panel)) right[vectors_];
#pragma GCC unroll 16
        for (std::size_t vector = 0; vector < vectors_; ++vector)
            right[vector] = load_right(panel + vector * unit * lanes_k);
#pragma GCC unroll 16
        for (std::size_t row = 0; row < rows_; ++row) {
            auto const broadcast_left = broadcast_pair(left.at(row));
#pragma GCC unroll 16
            for (std::size_t vector = 0; vector < vectors_; ++vector)
                sums_f32x[row][vector] = add_product(sums_f32x[row][vector], broadcast_left, right[vector]);
        }
    }
#pragma GCC unroll 16
    for (std::size_t row = 0; row < rows_; ++row)
#pragma GCC unroll 16
        for (std::size_t vector = 0; vector < vectors_; ++vector)
            sink.finish(row, vector * lanes_k, sums_f32x[row][vector]);
}

template <std::size_t rows_, std::size_t vectors_, std::size_t columns_ = panel_columns_k, typename left_,
          typename element_, typename sink_>
void multiply_rows(std::size_t rows, left_ left, element_ const *panel, std::size_t units, sink_ sink) {
    if constexpr (rows_ > 1)
        if (rows < rows_) return multiply_rows<rows_ - 1, vectors_, columns_>(rows, left, panel, units, sink);
    multiply_tile<rows_, vectors_, columns_>(left, panel, units, sink);
}

template <std::size_t vectors_, typename left_, typename element_, typename sink_>
void multiply_columns(std::size_t rows, std::size_t vectors, left_ left, element_ const *panel, std::size_t units,
                      sink_ sink) {
    if constexpr (vectors_ > 1)
        if (vectors < vectors_) return multiply_columns<vectors_ - 1>(rows, vectors, left, panel, units, sink);
    constexpr std::size_t step = rows_of_tile_k<element_>;
    for (std::size_t row = 0; row < rows; row += step)
        multiply_rows<step, vectors_>(least(rows - row, step), left.from(row), panel, units, sink.from(row, 0));
}

/** All 64 columns of a panel. */
template <typename left_, typename element_, typename sink_>
void multiply_panel(std::size_t rows, left_ left, element_ const *panel, std::size_t units, sink_ sink) {
    constexpr std::size_t step = rows_of_tile_k<element_>;
    for (std::size_t column = 0; column < panel_columns_k; column += tile_vectors_k * lanes_k)
        for (std::size_t row = 0; row < rows; row += step)
            multiply_rows<step, tile_vectors_k>(least(rows - row, step), left.from(row),
                                                panel + unit_of(panel) * column, units, sink.from(row, column));
}

/** The first `columns` of a panel, rounded up to whole vectors: what a short item's keys need. */
template <typename left_, typename element_, typename sink_>
void multiply_panel(std::size_t rows, std::size_t columns, left_ left, element_ const *panel, std::size_t units,
                    sink_ sink) {
    constexpr std::size_t step = tile_vectors_k * lanes_k;
    for (std::size_t column = 0; column < columns; column += step)
        multiply_columns<tile_vectors_k>(rows, divide_up(least(columns - column, step), lanes_k), left,
                                         panel + unit_of(panel) * column, units, sink.from(0, column));
}

/**
 *  Multiplies rows of a left operand by whole panels, one panel after another. A class with a unit for matrices steps
 *  in here, and only here: it specializes this template for the left operands it takes, after this header and before
 *  the kernels. One is made on the thread and for the work that it serves, so it may prepare that unit and leave it as
 *  it was. A sink's `continues_k` says whether sums start from what `start` answers, or at zero.
 */
template <typename left_>
struct multiplier_t {
    using attention_element_t = bf16_t;                // what attention's operands are kept as
    static constexpr std::size_t rows_k = tile_rows_k; // rows are best dealt in multiples of these

    /** Panels of an operand that is zipped from rows, just written: what a specialization wants in another order. */
    static void arrange_left(bf16_t *, std::size_t) {}
    static void arrange_right(bf16_t *, std::size_t) {}

    /** Scratch for products of up to `rows` rows; then a block of rows, before it meets one panel after another. */
    bool prepare(lane_t &, std::size_t, std::size_t) { return true; }
    void meet(std::size_t, left_, std::size_t) {}

    template <typename sink_>
    void multiply(std::size_t rows, left_ left, bf16_t const *panel, std::size_t pairs, sink_ sink) {
        multiply_panel(rows, left, panel, pairs, sink);
    }
};
