/**
 *  @file resample.cpp
 *  @brief The sums behind a grid's cells.
 */
#include <uform/media/resample.hpp>

#include <algorithm>

namespace uform {
namespace {

/** One axis, in units of which a cell has `pixels` and a pixel `cells`. The last pixel may end beyond the last cell. */
struct axis_t {
    std::size_t pixels, cells, reduction;

    std::uint64_t begin(std::size_t i) const noexcept { return std::uint64_t(i) * reduction * cells; }
    std::uint64_t end(std::size_t i) const noexcept { return begin(i + 1); }
    std::size_t first_pixel(std::size_t cell) const noexcept {
        return std::size_t(std::uint64_t(cell) * pixels / (std::uint64_t(cells) * reduction));
    }
    std::uint64_t covered(std::size_t i, std::size_t cell) const noexcept {
        std::uint64_t const from = std::max(begin(i), std::uint64_t(cell) * pixels);
        std::uint64_t const to = std::min(end(i), std::uint64_t(cell + 1) * pixels);
        return to > from ? to - from : 0;
    }
};

template <typename sum_>
void add_weighted(std::size_t count, sum_ weight, std::uint16_t const *row, sum_ *sums) noexcept {
    for (std::size_t i = 0; i < count; ++i) sums[i] += weight * row[i];
}

void widen_row(std::size_t count, std::uint8_t const *row, std::uint16_t *wide) noexcept {
    for (std::size_t i = 0; i < count; ++i) wide[i] = row[i];
}
void premultiply(std::size_t pixels, std::uint8_t const *row, std::uint16_t *wide) noexcept {
    for (std::size_t i = 0; i < pixels; ++i) {
        std::uint16_t const alpha = row[4 * i + 3];
        for (std::size_t c = 0; c < 3; ++c) wide[4 * i + c] = std::uint16_t(row[4 * i + c] * alpha); // at most 65025
        wide[4 * i + 3] = std::uint16_t(alpha * 255); // on the colours' scale
    }
}

/** totals[c] = sum of sums [pixels, channels_] of the pixels that a cell covers, each by how much of it. */
template <std::size_t channels_, typename sum_>
void sum_across(axis_t const &axis, std::size_t cell, sum_ const *sums, std::uint64_t *totals) noexcept {
    std::uint64_t const last_unit = std::uint64_t(cell + 1) * axis.pixels;
    std::size_t i = axis.first_pixel(cell);
    for (std::size_t c = 0; c < channels_; ++c) totals[c] = axis.covered(i, cell) * sums[i * channels_ + c];
    std::uint64_t inside[channels_] = {}; // of pixels that lie within the cell whole
    std::uint64_t const whole = std::uint64_t(axis.reduction) * axis.cells;
    for (++i; axis.begin(i) + whole <= last_unit; ++i)
        for (std::size_t c = 0; c < channels_; ++c) inside[c] += sums[i * channels_ + c];
    for (std::size_t c = 0; c < channels_; ++c) totals[c] += whole * inside[c];
    if (axis.begin(i) >= last_unit) return;
    for (std::size_t c = 0; c < channels_; ++c) totals[c] += axis.covered(i, cell) * sums[i * channels_ + c];
}

} // namespace

bool resampler_t::start(resampling_t const &shape, cell_sink_t sink) noexcept {
    shape_ = shape, sink_ = sink, taken_ = 0;
    std::size_t const values = shape.source_columns() * shape.channels;
    bool const tall = shape.height > UINT32_MAX / (255 * 255);
    return row_.resize(values) && cells_.resize(shape.columns * shape.channels) &&
           (tall ? tall_sums_.resize(values) : sums_.resize(values));
}

void resampler_t::take(std::uint8_t const *row) noexcept {
    if (shape_.channels == 4)
        premultiply(shape_.source_columns(), row, row_.data());
    else
        widen_row(row_.size(), row, row_.data());
    if (tall_sums_.size())
        spread(tall_sums_.data());
    else
        spread(sums_.data());
    ++taken_;
}

/** Adds the row to each row of cells it touches; those it ends are answered. */
template <typename sum_>
void resampler_t::spread(sum_ *sums) noexcept {
    axis_t const axis {shape_.height, shape_.rows, shape_.reduction};
    std::uint64_t const begin = axis.begin(taken_), end = axis.end(taken_);
    for (std::size_t cell = std::size_t(begin / shape_.height);
         cell < shape_.rows && std::uint64_t(cell) * shape_.height < end; ++cell) {
        add_weighted(row_.size(), sum_(axis.covered(taken_, cell)), row_.data(), sums);
        if (std::uint64_t(cell + 1) * shape_.height <= end) answer(cell, sums);
    }
}

template <typename sum_>
void resampler_t::answer(std::size_t cell_row, sum_ *sums) noexcept {
    axis_t const axis {shape_.width, shape_.columns, shape_.reduction};
    bool const alpha = shape_.channels == 4;
    // Exact as long as the picture's area stays below 2^37; the quotient is rounded once.
    double const area = double(std::uint64_t(shape_.width) * shape_.height * (alpha ? 255 : 1));
    for (std::size_t cell = 0; cell < shape_.columns; ++cell) {
        std::uint64_t totals[4];
        if (alpha)
            sum_across<4>(axis, cell, sums, totals);
        else
            sum_across<3>(axis, cell, sums, totals);
        for (std::size_t c = 0; c < shape_.channels; ++c) cells_[cell * shape_.channels + c] = double(totals[c]) / area;
    }
    std::fill_n(sums, row_.size(), sum_(0));
    sink_.take(sink_.self, cell_row, cells_.data());
}

} // namespace uform
