/**
 *  @file resample_unit.cpp
 *  @brief Cells against sums over every pixel of the area each shares with a cell, in double; and that a picture's
 *  cells are its mirror image's, mirrored, bit for bit.
 */
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include <uform/media/resample.hpp>

namespace uform {
namespace {

using cells_t = std::vector<double>; // [rows, columns, channels]

cells_t resampled(resampling_t const &shape, std::vector<std::uint8_t> const &pixels) {
    struct seen_t {
        resampling_t const &shape;
        cells_t cells;
        std::size_t next = 0;
    } seen {shape, cells_t(shape.rows * shape.columns * shape.channels, -1), 0};
    resampler_t resampler;
    EXPECT_TRUE(resampler.start(
        shape, {[](void *self, std::size_t row, double const *values) noexcept {
                    seen_t &seen = *static_cast<seen_t *>(self);
                    EXPECT_EQ(row, seen.next++);
                    std::size_t const columns = seen.shape.columns;
                    for (std::size_t i = 0; i < columns * seen.shape.channels; ++i)
                        seen.cells[(row * columns + i % columns) * seen.shape.channels + i / columns] = values[i];
                },
                &seen}));
    for (std::size_t row = 0; row < shape.source_rows(); ++row)
        resampler.take(pixels.data() + row * shape.source_columns() * shape.channels);
    EXPECT_EQ(seen.next, shape.rows);
    return seen.cells;
}

/** How much of [a, b) lies in [c, d). */
double shared(double a, double b, double c, double d) { return std::max(0.0, std::min(b, d) - std::max(a, c)); }

/** A cell's means by the areas it shares with all pixels, sides measured in pixels. */
std::vector<double> cell_by_areas(resampling_t const &shape, std::vector<std::uint8_t> const &pixels, std::size_t row,
                                  std::size_t column) {
    double const cell_height = double(shape.height) / double(shape.rows), scale = double(shape.reduction);
    double const cell_width = double(shape.width) / double(shape.columns);
    std::vector<double> sums(shape.channels);
    for (std::size_t y = 0; y < shape.source_rows(); ++y)
        for (std::size_t x = 0; x < shape.source_columns(); ++x) {
            double const bottom = std::min(double(y + 1) * scale, double(shape.height));
            double const right = std::min(double(x + 1) * scale, double(shape.width));
            double const area =
                shared(double(y) * scale, bottom, double(row) * cell_height, double(row + 1) * cell_height) *
                shared(double(x) * scale, right, double(column) * cell_width, double(column + 1) * cell_width);
            std::uint8_t const *const pixel = pixels.data() + (y * shape.source_columns() + x) * shape.channels;
            double const shown = shape.channels == 4 ? pixel[3] / 255.0 : 1.0;
            for (std::size_t c = 0; c < shape.channels; ++c) sums[c] += area * (c < 3 ? pixel[c] * shown : pixel[c]);
        }
    for (double &sum : sums) sum /= cell_height * cell_width;
    return sums;
}

std::vector<std::uint8_t> drawn(resampling_t const &shape, std::mt19937 &random) {
    std::vector<std::uint8_t> pixels(shape.source_rows() * shape.source_columns() * shape.channels);
    for (std::uint8_t &value : pixels) value = std::uint8_t(random());
    return pixels;
}

/** Sizes smaller than, equal to and larger than their grids, none of them a neat multiple, and some that are. */
std::vector<resampling_t> shapes() {
    std::vector<resampling_t> shapes;
    std::size_t const sizes[][2] = {{1, 1}, {2, 7}, {15, 17}, {16, 16}, {31, 64}, {97, 101}, {128, 40}};
    std::size_t const grids[][2] = {{1, 1}, {16, 16}, {16, 48}, {7, 32}};
    for (auto const &size : sizes)
        for (auto const &grid : grids)
            for (std::size_t const channels : {3, 4})
                for (std::size_t const reduction : {1, 2, 4, 8})
                    shapes.push_back({size[0], size[1], reduction, channels, grid[0], grid[1]});
    return shapes;
}

TEST(resample, cells_are_means_by_area) {
    std::mt19937 random(1);
    for (resampling_t const &shape : shapes()) {
        std::vector<std::uint8_t> const pixels = drawn(shape, random);
        cells_t const cells = resampled(shape, pixels);
        // The oracle's coverages are off by some units of the sides each, as many as it has terms; values reach 255.
        double const terms = double(shape.source_rows() * shape.source_columns());
        double const tolerance = 255 * 0x1p-52 * (terms + 8) * double(shape.width + shape.height);
        for (std::size_t row = 0; row < shape.rows; ++row)
            for (std::size_t column = 0; column < shape.columns; ++column) {
                std::vector<double> const expected = cell_by_areas(shape, pixels, row, column);
                for (std::size_t c = 0; c < shape.channels; ++c)
                    ASSERT_NEAR(cells[(row * shape.columns + column) * shape.channels + c], expected[c], tolerance)
                        << shape.width << " x " << shape.height << " / " << shape.reduction << " to " << shape.columns
                        << " x " << shape.rows << ", cell " << column << ", " << row << ", channel " << c;
            }
    }
}

TEST(resample, a_mirror_image_has_mirrored_cells) {
    std::mt19937 random(2);
    for (resampling_t const &shape : shapes()) {
        if (shape.reduction != 1) continue; // of whose last pixels a part is beyond the picture
        std::size_t const pixel = shape.channels;
        std::vector<std::uint8_t> const pixels = drawn(shape, random);
        std::vector<std::uint8_t> turned(pixels.size());
        for (std::size_t i = 0; i < pixels.size(); ++i)
            turned[pixels.size() - pixel - i / pixel * pixel + i % pixel] = pixels[i];
        cells_t const cells = resampled(shape, pixels), others = resampled(shape, turned);
        for (std::size_t i = 0; i < cells.size(); ++i)
            ASSERT_EQ(others[cells.size() - pixel - i / pixel * pixel + i % pixel], cells[i]);
    }
}

TEST(resample, one_colour_stays_that_colour) {
    for (resampling_t const &shape : shapes())
        for (int const value : {0, 1, 77, 255}) {
            std::vector<std::uint8_t> const pixels(shape.source_rows() * shape.source_columns() * shape.channels,
                                                   std::uint8_t(value));
            for (std::size_t i = 0; double const cell : resampled(shape, pixels)) {
                bool const colour = shape.channels == 4 && i++ % 4 != 3;
                ASSERT_EQ(cell, colour ? double(value * value) / 255 : double(value)); // one division, rounded once
            }
        }
}

/** Of a picture so tall that sums outgrow 32 bits: 65025 * 70000 is above 2^32. */
TEST(resample, tall_pictures_do_not_overflow) {
    resampling_t const shape {1, 70000, 1, 4, 1, 1};
    std::vector<std::uint8_t> const pixels(70000 * 4, 255);
    EXPECT_EQ(resampled(shape, pixels), cells_t(4, 255.0));
    resampling_t const opaque {1, 70000, 1, 3, 1, 1};
    EXPECT_EQ(resampled(opaque, std::vector<std::uint8_t>(70000 * 3, 255)), cells_t(3, 255.0));
    for (std::size_t const height :
         {65535, 65536, 66000}) { // around what 16 bits hold: a row's weight where cells are rows
        std::vector<std::uint8_t> const levels(height * 4, 255);
        EXPECT_EQ(resampled({1, height, 1, 4, 1, 1}, levels), cells_t(4, 255.0));
        EXPECT_EQ(resampled({1, height, 1, 4, 1, height}, levels), cells_t(height * 4, 255.0));
    }
}

TEST(resample, alpha_hides_colour) {
    // Two pixels in one cell: red at 255, hidden green; half of the light and of the alpha are left.
    EXPECT_EQ(resampled({2, 1, 1, 4, 1, 1}, {200, 0, 0, 255, 0, 255, 0, 0}), (cells_t {100, 0, 0, 127.5}));
}

} // namespace
} // namespace uform
