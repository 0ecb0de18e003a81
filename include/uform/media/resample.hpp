/**
 *  @file resample.hpp
 *  @brief Rows of pixels → the mean colour of each cell of a grid, by the area that cell covers.
 *
 *  One pass, as rows come: each is added to the cells it touches, weighted by how much of it they cover, and a row of
 *  cells is summed across and answered once its last row is in.
 *
 *      source pixel i covers [i s R, (i + 1) s R)  cut at n R     n pixels, R cells, s = reduction
 *      cell j         covers [j n, (j + 1) n)                     both in 1 / (n R) of the side
 *
 *  Covered lengths are whole numbers in these units, and so are all sums: nothing is rounded before the one division
 *  at the end, so no order of rows or columns, and no way to hold a camera, changes a bit. Where rows have alpha,
 *  colour counts as much as it shows. Loops are plain, over the values of a row, for the compiler to vectorize.
 */
#pragma once
#include <cstddef>
#include <cstdint>

#include <uform/utilities/buffer.hpp>

namespace uform {

struct resampling_t {
    std::size_t width = 0, height = 0; // of the picture in pixels, before any reduction
    std::size_t reduction = 1;         // of the rows that come
    std::size_t channels = 3;          // of a pixel; the fourth is straight alpha
    std::size_t columns = 0, rows = 0; // of the grid

    std::size_t source_columns() const noexcept { return (width + reduction - 1) / reduction; }
    std::size_t source_rows() const noexcept { return (height + reduction - 1) / reduction; }
};

/** Takes a row of cells: `values` [channels, columns], from 0 to 255, colour premultiplied by alpha. */
struct cell_sink_t {
    void (*take)(void *self, std::size_t row, double const *values) noexcept = nullptr;
    void *self = nullptr;
};

/** The pixels that a cell covers along an axis, and how much of them, in the units above. */
struct covered_t {
    std::size_t first = 0, whole = 0; // the first pixel; those behind it that lie within the cell
    std::uint64_t head = 0, tail = 0; // covered of the first pixel, and of the one behind the whole ones
};

class resampler_t {
    resampling_t shape_;
    cell_sink_t sink_;
    buffer_t<covered_t> columns_;       // [columns]
    buffer_t<std::uint16_t> row_;       // [source columns, channels]: what a row with alpha counts as
    buffer_t<std::uint32_t> sums_;      // [source columns, channels]: of one row of cells, so far
    buffer_t<std::uint64_t> tall_sums_; // instead, where 32 bits might not hold them
    buffer_t<double> cells_;            // [channels, columns]
    std::size_t taken_ = 0;             // rows of the source

  public:
    /** False where memory is out. */
    [[nodiscard]] bool start(resampling_t const &shape, cell_sink_t sink) noexcept;
    /** The next picture, of the same shape, once the last row of the one before is in. */
    void restart() noexcept { taken_ = 0; }
    /** The next row from the top. */
    void take(std::uint8_t const *row) noexcept;

  private:
    template <typename value_, typename sum_>
    void spread(value_ const *row, sum_ *sums) noexcept;
    template <typename sum_>
    void answer(std::size_t cell_row, sum_ const *sums) noexcept;
};

} // namespace uform
