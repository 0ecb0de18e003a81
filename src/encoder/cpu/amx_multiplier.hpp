/**
 *  @file amx_multiplier.hpp
 *  @brief Products with packed weights, and gradients of weights, on AMX tiles: the multiplier of Sapphire Rapids.
 *
 *  Included between tile.hpp and the kernels, after the words of amx.hpp. A panel's sixteen pairs of depths by sixteen
 *  columns are a right tile where they lie, 256 bytes from row to row; sixteen rows by 32 depths of row-major
 *  BFloat16 are a left one.
 *
 *  What a sum is. The Software Developer's Manual (TDPBF16PS) has one instruction add, for 32 depths, the even depths'
 *  products upwards from zero by fused multiply-adds, the odd ones' likewise, then even + odd, then that to the sum;
 *  all in float, to nearest even, denormals read and written as zero, MXCSR unheard. So a term passes through at most
 *  16 + 1 + (depth + 31) / 32 roundings, where kit_cases.hpp allows as many as its deepest product has depths. Steps of
 *  32 start at the product's first depth, and a short last one is padded by zeros, so a sum depends on its row and
 *  column alone.
 *
 *  Why 2 x 2. A product of two tiles occupies the unit for 16 cycles: 16 x 16 x 32 multiply-adds, 1024 operations a
 *  cycle, a TFLOP/s for every GHz of a core. A load of a tile takes 8 from the first-level cache. Four sums hide the
 *  52 cycles of an addition, since 4 x 16 > 52; with two left and two right tiles all eight registers are used, and
 *  four products need four loads, 32 of 64 cycles. 1 x 4 needs five for as many, 3 x 2 needs seven for six once
 *  registers run out: nothing that fits eight registers loads less than one tile a product. So operands that are in the
 *  first-level cache leave the unit as the bound. 32 rows and 32 columns are 128 bytes a depth: beyond a depth of 384
 *  they no longer fit its 48 KiB together, and both stream from the second level: 4 KiB every 64 cycles, all of the 64
 *  bytes a cycle it has at best. Then loads are the bound. (Cycles and widths as published for the processor; none was
 *  measured here.) Sixteen rows or fewer take 1 x 4 instead: 1 x 2 would leave two sums, 32 of 52 cycles, and a short
 *  text reads every weight once anyhow.
 */
#pragma once

constexpr std::size_t amx_rows_k = 16;
constexpr std::size_t amx_depth_k = 32;
constexpr std::size_t amx_pairs_k = amx_depth_k / 2;
constexpr std::size_t amx_row_bytes_k = 64;
constexpr std::size_t panel_stride_bytes_k = panel_stride_k * sizeof(bf16_t);

/** What LDTILECFG reads. Tiles 0-3 are sums, 4-5 left and 6-7 right operands. */
struct alignas(64) tile_shapes_t {
    std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
    std::uint16_t row_bytes[16] = {};
    std::uint8_t rows[16] = {};

    explicit tile_shapes_t(std::size_t left_rows) {
        for (int tile = 0; tile < 8; ++tile) {
            row_bytes[tile] = amx_row_bytes_k;
            rows[tile] = std::uint8_t(tile < 6 ? left_rows : amx_pairs_k);
        }
    }
};
static_assert(sizeof(tile_shapes_t) == 64);

/** The thread's tiles while work lasts: a system saves and restores 8 KiB more for whoever leaves them live. */
class tiles_t {
    std::size_t rows_ = 0; // of left tiles and sums

  public:
    tiles_t() = default;
    tiles_t(tiles_t const &) = delete;
    tiles_t &operator=(tiles_t const &) = delete;
    ~tiles_t() {
        if (rows_) tile_release();
    }
    void shape(std::size_t rows) {
        if (rows == rows_) return;
        tile_shapes_t const shapes(rows);
        tile_configure(&shapes);
        rows_ = rows;
    }
};

/** Where the left tile of `row` and its followers, at a step of 32 depths, starts, and how far apart its rows lie. */
inline bf16_t const *left_tile(left_rows_t left, std::size_t row, std::size_t step) {
    return left.data + row * left.stride + step * amx_depth_k;
}
inline std::size_t stride_bytes(left_rows_t left) { return left.stride * sizeof(bf16_t); }
/** In a panel that `arrange_left` has turned. */
inline bf16_t const *left_tile(left_panel_t left, std::size_t row, std::size_t step) {
    return left.data + step * amx_pairs_k * panel_stride_k + 2 * row;
}
inline std::size_t stride_bytes(left_panel_t) { return panel_stride_bytes_k; }

inline bf16_t const *right_tile(bf16_t const *panel, std::size_t column, std::size_t step) {
    return panel + step * amx_pairs_k * panel_stride_k + 2 * column;
}

/** Rows of one product of tiles: those of its one or two rows of tiles, and those among them that are wanted. */
struct tile_rows_t {
    std::size_t top, bottom; // where the tiles start; the second may overlap the first rather than leave the operand
    std::size_t first, last;

    std::size_t count() const { return last - first; }
    /** A row's place among the sums as stored. */
    std::size_t slot(std::size_t row) const { return row < top + amx_rows_k ? row - top : amx_rows_k + row - bottom; }
};

/** Two rows of tiles by two columns. */
struct square_t {
    static constexpr std::size_t rows_k = 2 * amx_rows_k, columns_k = 2 * lanes_k;
    static constexpr std::size_t corners_k[4] = {0, lanes_k, amx_rows_k *columns_k, amx_rows_k *columns_k + lanes_k};

    template <typename left_>
    static void add(left_ left, tile_rows_t rows, bf16_t const *panel, std::size_t column, std::size_t steps) {
        std::size_t const stride = stride_bytes(left);
        for (std::size_t step = 0; step < steps; ++step) {
            tile_load<4>(left_tile(left, rows.top, step), stride);
            tile_load<6>(right_tile(panel, column, step), panel_stride_bytes_k);
            tile_multiply<0, 4, 6>();
            tile_load<7>(right_tile(panel, column + lanes_k, step), panel_stride_bytes_k);
            tile_multiply<1, 4, 7>();
            tile_load<5>(left_tile(left, rows.bottom, step), stride);
            tile_multiply<2, 5, 6>();
            tile_multiply<3, 5, 7>();
        }
    }
};

/** One row of tiles by all four columns of a panel. */
struct strip_t {
    static constexpr std::size_t rows_k = amx_rows_k, columns_k = panel_columns_k;
    static constexpr std::size_t corners_k[4] = {0, lanes_k, 2 * lanes_k, 3 * lanes_k};

    template <typename left_>
    static void add(left_ left, tile_rows_t rows, bf16_t const *panel, std::size_t column, std::size_t steps) {
        std::size_t const stride = stride_bytes(left);
        for (std::size_t step = 0; step < steps; ++step) {
            tile_load<4>(left_tile(left, rows.top, step), stride);
            tile_load<6>(right_tile(panel, column, step), panel_stride_bytes_k);
            tile_multiply<0, 4, 6>();
            tile_load<7>(right_tile(panel, column + lanes_k, step), panel_stride_bytes_k);
            tile_multiply<1, 4, 7>();
            tile_load<6>(right_tile(panel, column + 2 * lanes_k, step), panel_stride_bytes_k);
            tile_multiply<2, 4, 6>();
            tile_load<7>(right_tile(panel, column + 3 * lanes_k, step), panel_stride_bytes_k);
            tile_multiply<3, 4, 7>();
        }
    }
};

/** Depths past the last whole step of 32, copied with zeros up to one, so that nothing foreign is read. */
struct tail_t {
    alignas(64) bf16_t left[square_t::rows_k * amx_depth_k];
    alignas(64) bf16_t right[amx_pairs_k * panel_stride_k];
    std::size_t pairs;

    tail_t(bf16_t const *panel, std::size_t all_pairs) : pairs(all_pairs % amx_pairs_k) {
        if (!pairs) return;
        std::memset(static_cast<void *>(left), 0, sizeof(left));
        std::memset(static_cast<void *>(right), 0, sizeof(right));
        std::memcpy(static_cast<void *>(right), panel + (all_pairs - pairs) * panel_stride_k,
                    pairs * panel_stride_bytes_k);
    }
    left_rows_t take(left_rows_t from, tile_rows_t rows, std::size_t depth) {
        for (std::size_t row = rows.first; row < rows.last; ++row)
            std::memcpy(static_cast<void *>(left + rows.slot(row) * amx_depth_k), from.at(row) + depth,
                        2 * pairs * sizeof(bf16_t));
        return {left, amx_depth_k};
    }
};

/** The sums of one product of tiles on their way between registers and a sink. */
template <typename form_>
struct tile_sums_t {
    alignas(64) float sums[form_::rows_k * form_::columns_k];

    template <typename sink_>
    void start(tile_rows_t rows, std::size_t column, sink_ sink) {
        if constexpr (!sink_::continues_k) return tile_zero<0>(), tile_zero<1>(), tile_zero<2>(), tile_zero<3>();
        std::memset(sums, 0, sizeof(sums));
        for (std::size_t row = rows.first; row < rows.last; ++row)
            for (std::size_t lane = 0; lane < form_::columns_k; lane += lanes_k)
                store(sums + rows.slot(row) * form_::columns_k + lane, sink.start(row, column + lane));
        constexpr std::size_t stride = form_::columns_k * sizeof(float);
        tile_load<0>(sums + form_::corners_k[0], stride), tile_load<1>(sums + form_::corners_k[1], stride);
        tile_load<2>(sums + form_::corners_k[2], stride), tile_load<3>(sums + form_::corners_k[3], stride);
    }
    template <typename sink_>
    void finish(tile_rows_t rows, std::size_t column, sink_ sink) {
        constexpr std::size_t stride = form_::columns_k * sizeof(float);
        tile_store<0>(sums + form_::corners_k[0], stride), tile_store<1>(sums + form_::corners_k[1], stride);
        tile_store<2>(sums + form_::corners_k[2], stride), tile_store<3>(sums + form_::corners_k[3], stride);
        for (std::size_t row = rows.first; row < rows.last; ++row)
            for (std::size_t lane = 0; lane < form_::columns_k; lane += lanes_k)
                sink.finish(row, column + lane, load(sums + rows.slot(row) * form_::columns_k + lane));
    }
};

template <>
struct multiplier_t<left_rows_t> {
    using attention_element_t = bf16_t;
    static constexpr std::size_t rows_k = square_t::rows_k;
    tiles_t tiles;

    bool prepare(lane_t &, std::size_t, std::size_t) { return true; }
    void meet(std::size_t, left_rows_t, std::size_t) {}

    template <typename form_, typename sink_>
    static void multiply_form(left_rows_t left, tile_rows_t rows, bf16_t const *panel, std::size_t pairs, tail_t &tail,
                              sink_ sink) {
        std::size_t const steps = pairs / amx_pairs_k;
        left_rows_t const rest = tail.pairs ? tail.take(left, rows, steps * amx_depth_k) : left;
        for (std::size_t column = 0; column < panel_columns_k; column += form_::columns_k) {
            tile_sums_t<form_> sums;
            sums.start(rows, column, sink);
            form_::add(left, rows, panel, column, steps);
            if (tail.pairs) form_::add(rest, {0, amx_rows_k, 0, 0}, tail.right, column, 1);
            sums.finish(rows, column, sink);
        }
    }

    /** The last tiles of rows start early enough to end with the operand; their first sums are then not wanted again.
     *  Fewer than sixteen rows in all make all tiles shorter. */
    template <typename sink_>
    void multiply(std::size_t rows, left_rows_t left, bf16_t const *panel, std::size_t pairs, sink_ sink) {
        std::size_t const height = least(rows, amx_rows_k);
        tiles.shape(height);
        tail_t tail(panel, pairs);
        for (std::size_t row = 0; row < rows; row += square_t::rows_k) {
            std::size_t const last = least(rows, row + square_t::rows_k);
            if (last - row > amx_rows_k)
                multiply_form<square_t>(left, {row, last - amx_rows_k, row, last}, panel, pairs, tail, sink);
            else
                multiply_form<strip_t>(left, {last - height, last - height, row, last}, panel, pairs, tail, sink);
        }
    }
};

template <>
struct multiplier_t<left_panel_t> {
    tiles_t tiles;

    /** Zeros up to a whole step of depths. Panels have room for `zipped_rows_k` rows, however few they hold. */
    static void arrange_right(bf16_t *panel, std::size_t pairs) {
        std::memset(static_cast<void *>(panel + pairs * panel_stride_k), 0,
                    (round_up(pairs, amx_pairs_k) - pairs) * panel_stride_bytes_k);
    }
    /** Turns every square of sixteen pairs by sixteen columns: then its rows are a left tile's, pairs side by side. */
    static void arrange_left(bf16_t *panel, std::size_t pairs) {
        arrange_right(panel, pairs);
        for (std::size_t pair = 0; pair < pairs; pair += amx_pairs_k)
            for (std::size_t column = 0; column < panel_columns_k; column += lanes_k) {
                bf16_t *corner = panel + pair * panel_stride_k + 2 * column;
                pairs_t square[lanes_k];
#pragma GCC unroll 16
                for (std::size_t row = 0; row < lanes_k; ++row) square[row] = load_pairs(corner + row * panel_stride_k);
                transpose(square);
#pragma GCC unroll 16
                for (std::size_t row = 0; row < lanes_k; ++row) store_pairs(corner + row * panel_stride_k, square[row]);
            }
    }

    /** A panel has all 64 columns, so tiles are whole; rows beyond the last are zeros and go to no sink. */
    template <typename sink_>
    void multiply(std::size_t rows, left_panel_t left, bf16_t const *panel, std::size_t pairs, sink_ sink) {
        tiles.shape(amx_rows_k);
        for (std::size_t row = 0; row < rows; row += square_t::rows_k)
            for (std::size_t column = 0; column < panel_columns_k; column += square_t::columns_k) {
                tile_rows_t const wanted {row, row + amx_rows_k, row, least(rows, row + square_t::rows_k)};
                tile_sums_t<square_t> sums;
                sums.start(wanted, column, sink);
                square_t::add(left, wanted, panel, column, divide_up(pairs, amx_pairs_k));
                sums.finish(wanted, column, sink);
            }
    }
};
