/**
 *  @file patch_entry_unit.cpp
 *  @brief The image entry against its definition in double: grids, the place of each value, projection, rotation; and
 *  every class's tower over patches against the serial one in double.
 */
#include <cmath>
#include <numbers>

#include "model_fixture.hpp"
#include "picture_fixture.hpp"

#include <uform/utilities/classes.hpp>

#include "pictures.hpp"

namespace uform::test {
namespace {

TEST(patch_entry, grids_follow_the_sides) {
    struct row_t {
        std::size_t height, width, side, rows, columns;
    };
    // rows = floor(sqrt(512 h / w)), columns = floor(512 / rows), within what the pixels fill; by hand.
    for (row_t const &row : std::vector<row_t> {{1000, 1000, 16, 22, 23},
                                                {3000, 4000, 16, 19, 26}, // sqrt(384) = 19.6
                                                {4000, 3000, 16, 26, 19}, // sqrt(682.7) = 26.1
                                                {1, 1, 16, 1, 1},
                                                {4096, 1, 16, 256, 1},
                                                {1, 4096, 16, 1, 256},
                                                {100000, 100, 16, 512, 1}, // sqrt(512000) = 715
                                                {100, 100000, 16, 1, 512}, // sqrt(0.512) = 0.7, at least 1
                                                {17, 33, 16, 2, 3},
                                                {128, 192, 16, 8, 12},
                                                {512, 512, 8, 22, 23},
                                                {1024, 512, 16, 32, 16}}) { // sqrt(1024) = 32
        token_grid_t const grid = patch_grid_of(row.height, row.width, row.side);
        EXPECT_EQ(grid.rows, row.rows) << row.height << " x " << row.width;
        EXPECT_EQ(grid.columns, row.columns) << row.height << " x " << row.width;
    }
}

TEST(patch_entry, pairs_turn_by_time_row_time_column) {
    rotary_table_t<double> table;
    ASSERT_TRUE(table.build(64));
    token_grid_t const grid {5, 7};
    std::vector<double> rotary(grid.tokens() * 64);
    turn_grid(table, grid, grid.tokens(), rotary.data());
    for (std::size_t token = 0; token < grid.tokens(); ++token)
        for (std::size_t j = 0; j < 32; ++j) {
            double const coordinates[] = {0, double(token / 7), 0, double(token % 7)};
            double const angle = coordinates[j % 4] * std::pow(10000.0, -double(j) / 32);
            ASSERT_NEAR(rotary[token * 64 + j], std::cos(angle), 64 * 0x1p-48) << token << " " << j;
            ASSERT_NEAR(rotary[token * 64 + 32 + j], std::sin(angle), 64 * 0x1p-48) << token << " " << j;
        }
}

/** A picture as large as its grid: each value of a patch is one pixel's. */
TEST(patch_entry, values_are_channel_row_column) {
    for (std::size_t const channels : {3, 4}) {
        image_entry_t const entry {4, channels};
        std::size_t const height = 8, width = 12; // 2 x 3 patches of 4
        picture_t const picture = drawn_picture(height, width, 9);
        std::size_t const offsets[] = {0, picture.pixels.size()};
        tape_t<unsigned char> const tape({picture.pixels.data(), offsets, uform_scalar_u8_k}, 1);
        executor_t executor;
        executor.reset_lanes();
        pictures_t pictures(entry, tape);
        ASSERT_FALSE(pictures.measure_pixels(&height, &width, executor));
        ASSERT_EQ(pictures.grids()[0].tokens(), 6u);
        std::vector<bf16_t> patches(6 * entry.token_values());
        stop_t const stop {[](void *) noexcept { return true; }, nullptr};
        ASSERT_EQ(pictures.fill(0, 6, patches.data(), stop).status, uform_status_cancelled_k);
        ASSERT_FALSE(pictures.fill(0, 6, patches.data()));
        for (std::size_t i = 0; i < patches.size(); ++i) {
            std::size_t const token = i / (channels * 16), c = i / 16 % channels, row = i / 4 % 4, column = i % 4;
            std::size_t const y = token / 3 * 4 + row, x = token % 3 * 4 + column;
            double const pixel = c < 3 ? static_cast<unsigned char>(picture.pixels[(y * width + x) * 3 + c]) : 255;
            double const expected = pixel / 127.5 - 1;
            ASSERT_NEAR(double(widen(patches[i])), expected, std::abs(expected) * 0x1p-8) << i; // one rounding to bf16
        }
    }
}

/** A PNG of RGB pixels that nothing compresses: stored blocks, and an EXIF that tells how the camera was held. */
class png_t {
    std::string bytes_ = "\x89PNG\r\n\x1a\n";

    static std::string number(std::uint32_t value) {
        return {char(value >> 24), char(value >> 16), char(value >> 8), char(value)};
    }
    void chunk(std::string const &content) { // its type, then its data
        std::uint32_t sum = ~0u;
        for (char const byte : content) {
            sum ^= static_cast<unsigned char>(byte);
            for (int bit = 0; bit < 8; ++bit) sum = sum >> 1 ^ (sum & 1 ? 0xedb88320u : 0);
        }
        bytes_ += number(std::uint32_t(content.size() - 4)) + content + number(~sum);
    }

  public:
    png_t(picture_t const &picture, int orientation) {
        chunk("IHDR" + number(std::uint32_t(picture.width)) + number(std::uint32_t(picture.height)) +
              std::string("\x08\x02\0\0\0", 5));
        chunk(std::string("eXIfMM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0", 23) + char(orientation) +
              std::string("\0\0\0\0\0\0", 6));
        std::string rows, stored("\x78\x01", 2);
        for (std::size_t y = 0; y < picture.height; ++y)
            rows += std::string(1, '\0') + picture.pixels.substr(y * picture.width * 3, picture.width * 3);
        for (std::size_t at = 0; at < rows.size(); at += 65535) {
            std::string const part = rows.substr(at, 65535);
            std::uint16_t const length = std::uint16_t(part.size()), other = std::uint16_t(~length);
            stored += {char(at + 65535 >= rows.size()), char(length), char(length >> 8), char(other), char(other >> 8)};
            stored += part;
        }
        std::uint32_t first = 1, second = 0;
        for (char const byte : rows)
            first = (first + static_cast<unsigned char>(byte)) % 65521, second = (second + first) % 65521;
        chunk("IDAT" + stored + number(second << 16 | first));
        chunk("IEND");
    }
    std::string const &bytes() const { return bytes_; }
};

/** What a camera held in the `number`th way stores of a picture, by the definition of EXIF's tag: where its row 0 and
 *  its column 0 are seen. */
picture_t stored_as(picture_t const &upright, int number) {
    bool const swapped = number >= 5;
    picture_t stored {swapped ? upright.width : upright.height, swapped ? upright.height : upright.width, {}};
    for (std::size_t row = 0; row < stored.height; ++row)
        for (std::size_t column = 0; column < stored.width; ++column) {
            std::size_t const bottom = upright.height - 1, right = upright.width - 1;
            std::size_t y = row, x = column;                       // 1: row 0 is the top, column 0 the left
            if (number == 2) x = right - column;                   // top, right
            if (number == 3) y = bottom - row, x = right - column; // bottom, right
            if (number == 4) y = bottom - row;                     // bottom, left
            if (number == 5) y = column, x = row;                  // left, top
            if (number == 6) y = column, x = right - row;          // right, top
            if (number == 7) y = bottom - column, x = right - row; // right, bottom
            if (number == 8) y = bottom - column, x = row;         // left, bottom
            stored.pixels += upright.pixels.substr((y * upright.width + x) * 3, 3);
        }
    return stored;
}

TEST(patch_entry, turned_files_are_their_upright_pixels) {
    checkpoint_fixture_t const checkpoint(picture_options());
    picture_caller_t caller(checkpoint);
    std::size_t const sizes[][2] = {{1, 1}, {1, 9}, {23, 5}, {31, 47}, {64, 64}, {123, 77}};
    for (auto const &size : sizes) {
        picture_t const upright = drawn_picture(size[0], size[1], std::uint32_t(size[0]));
        std::string const expected = caller.bits(std::vector {upright}).at(0);
        for (int number = 1; number <= 8; ++number)
            EXPECT_TRUE(caller.bits(png_t(stored_as(upright, number), number).bytes()) == expected)
                << size[0] << " x " << size[1] << " held in way " << number;
    }
}

/** A batch of patches through the entry and the tower: of grids 3 x 2, 1 x 1 and 4 x 5. */
template <typename kit_>
struct patch_tower_t {
    using wide_t = typename kit_::wide_t;
    using narrow_t = typename kit_::narrow_t;

    static constexpr std::size_t hidden_k = 128, values_k = 48, tokens_k = 27;
    static constexpr token_grid_t grids_k[] = {{3, 2}, {1, 1}, {4, 5}};
    model_fixture_t<kit_> model;
    std::vector<narrow_t> weight, bias, patches;
    std::vector<std::byte> packed_bytes;
    media_weights_t<wide_t> entry;

    explicit patch_tower_t(kit_ const &kit) : model(kit, {hidden_k, 2, 64}, 8) {
        draw(weight, hidden_k * values_k, 77), draw(bias, hidden_k, 78), draw(patches, tokens_k * values_k, 79);
        entry.projection = {nullptr, hidden_k, values_k, uform_scalar_bf16_k};
        packed_bytes.resize(kit.pack_bytes(hidden_k, values_k, uform_scalar_bf16_k) + 64);
        auto const at = reinterpret_cast<std::uintptr_t>(packed_bytes.data());
        entry.projection.data = packed_bytes.data() + (64 - at % 64) % 64, entry.bias = bias.data();
        kit.pack(weight.data(), 0, hidden_k, entry.projection);
        model.tower.weights.media[0] = entry;
    }
    static void draw(std::vector<narrow_t> &values, std::size_t count, std::uint64_t state) {
        values.resize(count);
        for (narrow_t &value : values) // what BFloat16 holds, in both
            value = uform::narrow<wide_t>(wide_t(widen(round_to_bf16(float(splitmix(state))))));
    }
    /** x [tokens, hidden], or the states. */
    std::vector<double> run(bool whole) {
        lane_t lane;
        std::uint32_t const offsets[] = {0, 6, 7, 27};
        wide_t *const rotary = lane.claim<wide_t>(tokens_k * head_width_k);
        for (std::size_t i = 0; i < 3; ++i)
            turn_grid(model.rotary, grids_k[i], grids_k[i].tokens(), rotary + offsets[i] * head_width_k);
        run_t<wide_t> const runs[] = {{0, 7, nullptr, patches.data()}, {7, 20, nullptr, patches.data() + 7 * values_k}};
        mixed_batch_t<wide_t> const batch {items_t {offsets}, rotary, runs};
        wide_t *const x = lane.claim<wide_t>(tokens_k * hidden_k);
        enter(model.kit, lane, model.tower.weights, batch, x);
        std::vector<double> out(tokens_k * hidden_k);
        for (std::size_t i = 0; i < out.size(); ++i) out[i] = double(x[i]);
        if (!whole) return out;
        states_t<wide_t> states;
        require(states.claim(lane, model.geometry, tokens_k));
        tower_forward(model.kit, lane, model.tower.weights, batch, residuals_t<wide_t> {x, 0}, states);
        require(!lane.failed());
        for (std::size_t i = 0; i < out.size(); ++i) out[i] = double(widen(states.states[i]));
        return out;
    }
};

TEST(patch_entry, x_is_the_projection_and_its_bias_in_every_class) {
    serial::kit<double> const oracle_kit;
    patch_tower_t<serial::kit<double>> oracle(oracle_kit);
    for (uform_cpu_class_t class_ = uform_cpu_class_serial_k; class_ <= uform_cpu_class_wasm_simd_k; ++class_) {
        uform_cpu_class_t resolved;
        if (!has_kernels(class_) || resolve_class(class_, has_kernels, resolved)) continue;
        patch_tower_t<kit_table_t> tower(*kit_of(class_));
        std::vector<double> const x = tower.run(false);
        constexpr std::size_t values_k = patch_tower_t<kit_table_t>::values_k;
        for (std::size_t token = 0; token < tower.tokens_k; ++token)
            for (std::size_t row = 0; row < tower.hidden_k; ++row) {
                double sum = double(widen(tower.bias[row])), size = std::abs(sum);
                for (std::size_t i = 0; i < values_k; ++i) {
                    double const term = double(widen(tower.patches[token * values_k + i])) *
                                        double(widen(tower.weight[row * values_k + i]));
                    sum += term, size += std::abs(term);
                }
                // A float sum of n terms in any order: n roundings of at most its absolute sum.
                ASSERT_NEAR(x[token * tower.hidden_k + row], sum, (values_k + 1) * 0x1p-23 * size)
                    << kit_of(class_)->name;
            }
    }
    (void)oracle;
}

/** A hidden token is its medium's MASK row; what the others enter as does not know of it, nor of the runs' cuts. */
TEST(patch_entry, hidden_tokens_enter_as_masks_in_every_class) {
    static constexpr std::uint32_t covered[] = {0, 3, 6, 7, 8, 26};
    for (uform_cpu_class_t class_ = uform_cpu_class_serial_k; class_ <= uform_cpu_class_wasm_simd_k; ++class_) {
        uform_cpu_class_t resolved;
        if (!has_kernels(class_) || resolve_class(class_, has_kernels, resolved)) continue;
        patch_tower_t<kit_table_t> tower(*kit_of(class_));
        constexpr std::size_t hidden = tower.hidden_k, values = tower.values_k, tokens = tower.tokens_k;
        std::vector<double> const shown = tower.run(false);
        std::vector<bf16_t> mask;
        tower.draw(mask, hidden, 80);
        tower.model.tower.weights.media[0].mask = mask.data();
        std::span<std::uint32_t const> const all(covered);
        run_t<float> const whole[] = {{0, tokens, nullptr, tower.patches.data(), medium_t::image_k, all}};
        run_t<float> const cut[] = {
            {0, 7, nullptr, tower.patches.data(), medium_t::image_k, all.first(3)},
            {7, 2, nullptr, tower.patches.data() + 7 * values, medium_t::image_k, all.subspan(3, 2)}, // hidden whole
            {9, 18, nullptr, tower.patches.data() + 9 * values, medium_t::image_k, all.last(1)}};
        std::uint32_t const offsets[] = {0, tokens};
        for (std::span<run_t<float> const> const runs : {std::span<run_t<float> const>(whole), {cut}}) {
            lane_t lane;
            std::vector<float> x(tokens * hidden);
            enter(tower.model.kit, lane, tower.model.tower.weights, mixed_batch_t<float> {{offsets}, nullptr, runs},
                  x.data());
            ASSERT_FALSE(lane.failed());
            for (std::size_t i = 0; i < x.size(); ++i) {
                bool const is_hidden = std::find(all.begin(), all.end(), i / hidden) != all.end();
                ASSERT_EQ(x[i], is_hidden ? double(widen(mask[i % hidden])) : shown[i])
                    << kit_of(class_)->name << " token " << i / hidden;
            }
        }
    }
}

TEST(patch_entry, towers_of_every_class_agree_with_the_serial_one_in_double) {
    serial::kit<double> const oracle_kit;
    patch_tower_t<serial::kit<double>> oracle(oracle_kit);
    std::vector<double> const expected = oracle.run(true);
    for (uform_cpu_class_t class_ = uform_cpu_class_serial_k; class_ <= uform_cpu_class_wasm_simd_k; ++class_) {
        uform_cpu_class_t resolved;
        if (!has_kernels(class_) || resolve_class(class_, has_kernels, resolved)) continue;
        patch_tower_t<kit_table_t> tower(*kit_of(class_));
        std::vector<double> const states = tower.run(true);
        for (std::size_t token = 0; token < tower.tokens_k; ++token) {
            double error = 0, norm = 0;
            for (std::size_t i = token * tower.hidden_k; i < (token + 1) * tower.hidden_k; ++i)
                error += (states[i] - expected[i]) * (states[i] - expected[i]), norm += expected[i] * expected[i];
            // BFloat16 rounds what passes between a block's steps, about eight times a block, to 2^-9 each; two blocks.
            EXPECT_LT(std::sqrt(error / norm), 16 * 0x1p-9) << kit_of(class_)->name << " token " << token;
        }
    }
}

} // namespace
} // namespace uform::test
