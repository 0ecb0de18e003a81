/**
 *  @file winners_unit.cpp
 *  @brief Maxima of columns and the first rows that reach them, against a look at every value.
 */
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include <uform/train/winners.hpp>

namespace {

using namespace uform;

template <typename scalar_>
void expect_winners(std::size_t rows, std::size_t columns, std::vector<scalar_> const &table) {
    std::vector<scalar_> best(columns);
    std::vector<std::uint32_t> won(columns), groups(columns);
    winners_t<scalar_> const out {columns, best.data(), won.data(), groups.data()};
    start_winners(out);
    for (std::size_t row = 0; row < rows; row += 64)
        keep_winners(std::min<std::size_t>(64, rows - row), std::uint32_t(row), table.data() + row * columns, out);
    for (std::size_t column = 0; column < columns; ++column) {
        scalar_ largest = -INFINITY;
        std::size_t first = 0;
        for (std::size_t row = 0; row < rows; ++row)
            if (table[row * columns + column] > largest) largest = table[row * columns + column], first = row;
        EXPECT_EQ(best[column], largest) << rows << " x " << columns << ", " << column;
        EXPECT_EQ(won[column], first) << rows << " x " << columns << ", " << column;
    }
}

template <typename scalar_>
void expect_winners_of(int values) { // so few that most maxima are shared by several rows
    std::mt19937 generator(3);
    for (std::size_t const rows : {1, 7, 8, 9, 63, 64, 65, 128, 150})
        for (std::size_t const columns : {1, 3, 4, 19, 64, 70}) {
            std::vector<scalar_> table(rows * columns);
            for (scalar_ &x : table) x = scalar_(int(generator() % values) - values / 2);
            expect_winners(rows, columns, table);
        }
}

TEST(winners_unit, the_first_of_the_largest) {
    expect_winners_of<float>(3), expect_winners_of<double>(3);
    expect_winners_of<float>(50), expect_winners_of<float>(1 << 20), expect_winners_of<double>(1 << 20);
}

TEST(winners_unit, what_is_no_number_does_not_win) {
    std::vector<float> table(70 * 5, NAN);
    expect_winners(70, 5, table); // nothing wins: minus infinity, row zero
    table[66 * 5 + 2] = -3, table[9 * 5 + 4] = -INFINITY;
    expect_winners(70, 5, table);
}

} // namespace
