/**
 *  @file resample.cpp
 *  @brief The sums behind a grid's cells.
 */
#include <uform/media/resample.hpp>

#include <algorithm>

namespace uform {
namespace {

constexpr std::size_t tallest_k = UINT16_MAX; // whose sums 32 bits hold, 65535 × 255², and whose weights 16

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

template <typename value_>
void add_weighted(std::size_t count, std::uint64_t weight, value_ const *row, std::uint64_t *sums) noexcept {
    for (std::size_t i = 0; i < count; ++i) sums[i] += weight * row[i];
}
/** Products of 16-bit numbers, which vectors of any age have. */
template <typename value_>
void add_weighted(std::size_t count, std::uint64_t weight, value_ const *row, std::uint32_t *sums) noexcept {
    std::uint16_t const narrow = std::uint16_t(weight); // at most the height
    for (std::size_t i = 0; i < count; ++i) sums[i] += std::uint32_t(narrow) * std::uint16_t(row[i]);
}

void premultiply(std::size_t pixels, std::uint8_t const *row, std::uint16_t *wide) noexcept {
    for (std::size_t i = 0; i < pixels; ++i) {
        std::uint16_t const alpha = row[4 * i + 3];
        for (std::size_t c = 0; c < 3; ++c) wide[4 * i + c] = std::uint16_t(row[4 * i + c] * alpha); // at most 65025
        wide[4 * i + 3] = std::uint16_t(alpha * 255); // on the colours' scale
    }
}

/** What a cell covers: part of its first pixel, so many whole ones, and part of one more. */
covered_t covered_by(axis_t const &axis, std::size_t cell) noexcept {
    covered_t covered;
    covered.first = axis.first_pixel(cell), covered.head = axis.covered(covered.first, cell);
    std::uint64_t const end = std::uint64_t(cell + 1) * axis.pixels;
    std::size_t i = covered.first + 1;
    while (axis.end(i) <= end) ++i;
    covered.whole = i - covered.first - 1;
    if (axis.begin(i) < end) covered.tail = axis.covered(i, cell);
    return covered;
}

/** *totals[c] = sum of sums [pixels, channels_] of the pixels that a cell covers, each by how much of it. */
template <std::size_t channels_, typename sum_>
void sum_across(covered_t const &covered, std::uint64_t whole, sum_ const *sums, double *const *totals) noexcept {
    sum_ const *pixel = sums + covered.first * channels_;
    std::uint64_t head[channels_], inside[channels_] = {};
    for (std::size_t c = 0; c < channels_; ++c) head[c] = covered.head * pixel[c];
    for (std::size_t i = 0; i < covered.whole; ++i) {
        pixel += channels_;
        for (std::size_t c = 0; c < channels_; ++c) inside[c] += pixel[c];
    }
    if (covered.tail) pixel += channels_; // else it counts for nothing
    for (std::size_t c = 0; c < channels_; ++c)
        *totals[c] = double(std::int64_t(head[c] + whole * inside[c] + covered.tail * pixel[c])); // below 2^63
}

} // namespace

bool resampler_t::start(resampling_t const &shape, cell_sink_t sink) noexcept {
    shape_ = shape, sink_ = sink, taken_ = 0;
    std::size_t const values = shape.source_columns() * shape.channels;
    bool const tall = shape.height > tallest_k, alpha = shape.channels == 4;
    if (!cells_.resize(shape.columns * shape.channels) || !columns_.resize(shape.columns)) return false;
    if (!row_.resize(alpha ? values : 0) || !sums_.resize(tall ? 0 : values) || !tall_sums_.resize(tall ? values : 0))
        return false;
    axis_t const axis {shape.width, shape.columns, shape.reduction};
    for (std::size_t cell = 0; cell < shape.columns; ++cell) columns_[cell] = covered_by(axis, cell);
    return true;
}

void resampler_t::take(std::uint8_t const *row) noexcept {
    bool const alpha = shape_.channels == 4, tall = tall_sums_.size() != 0;
    if (alpha) premultiply(shape_.source_columns(), row, row_.data());
    if (alpha && tall)
        spread(row_.data(), tall_sums_.data());
    else if (alpha)
        spread(row_.data(), sums_.data());
    else if (tall)
        spread(row, tall_sums_.data());
    else
        spread(row, sums_.data());
    ++taken_;
}

/** Adds the row to each row of cells it touches; those it ends are answered. */
template <typename value_, typename sum_>
void resampler_t::spread(value_ const *row, sum_ *sums) noexcept {
    axis_t const axis {shape_.height, shape_.rows, shape_.reduction};
    std::size_t const values = shape_.source_columns() * shape_.channels;
    std::uint64_t const begin = axis.begin(taken_), end = axis.end(taken_);
    for (std::size_t cell = std::size_t(begin / shape_.height);
         cell < shape_.rows && std::uint64_t(cell) * shape_.height < end; ++cell) {
        add_weighted(values, axis.covered(taken_, cell), row, sums);
        if (std::uint64_t(cell + 1) * shape_.height > end) continue;
        answer(cell, sums);
        std::fill_n(sums, values, sum_(0));
    }
}

template <typename sum_>
void resampler_t::answer(std::size_t cell_row, sum_ const *sums) noexcept {
    std::uint64_t const whole = std::uint64_t(shape_.reduction) * shape_.columns; // a pixel
    bool const alpha = shape_.channels == 4;
    double *totals[4];
    for (std::size_t c = 0; c < 4; ++c) totals[c] = cells_.data() + c % shape_.channels * shape_.columns;
    for (covered_t const &covered : columns_) {
        if (alpha)
            sum_across<4>(covered, whole, sums, totals);
        else
            sum_across<3>(covered, whole, sums, totals);
        for (double *&total : totals) ++total;
    }
    // Exact as long as the picture's area stays below 2^37; the quotient is rounded once.
    double const area = double(std::uint64_t(shape_.width) * shape_.height * (alpha ? 255 : 1));
    for (double &cell : cells_) cell /= area;
    sink_.take(sink_.self, cell_row, cells_.data());
}

} // namespace uform
