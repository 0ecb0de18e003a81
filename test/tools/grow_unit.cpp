/**
 *  @file grow_unit.cpp
 *  @brief Grown models compute what the smaller ones do: against a reading of the model's formulas in double that
 *  shares nothing with the engine, and element by element against literals.
 */
#include <algorithm>
#include <cmath>
#include <map>
#include <random>

#include <gtest/gtest.h>

#include "support/error.hpp"
#include "support/growth.hpp"
#include "support/growth_probe.hpp"
#include "support/tensor_file.hpp"

using namespace uform::tools;

namespace {

using row_t = std::vector<double>;
using rows_t = std::vector<row_t>;

/** Every head and entry there can be, with nothing at zero that training would move. */
class random_file_t {
    tensor_file_t file_;
    std::mt19937 draws_ {7};

  public:
    random_file_t(std::size_t hidden, std::size_t depth) {
        file_.metadata = {{"hidden", std::to_string(hidden)}, {"depth", std::to_string(depth)}, {"step", "3"}};
        matrix("text.embedding", 258, hidden, 1.0);
        for (std::size_t row = 0; row < 258; ++row) file_.tensors[0].put(row * hidden, 4.0f);
        for (std::size_t block = 0; block < depth; ++block) add_block(fmt::format("blocks.{}.", block), hidden);
        vector("norm", true, hidden, 1.0);
        vector("pool.query", false, hidden, 0.0);
        for (char const *name : {"pool.hidden", "pool.output"}) linear(name, hidden, hidden);
        linear("tokens.projection", 16, hidden);
        linear("decoder.weight", 256, hidden), vector("decoder.bias", false, 256, 0.0);
        linear("image.projection.weight", hidden, 12), vector("image.projection.bias", false, hidden, 0.0);
        vector("image.mask", false, hidden, 0.0);
        linear("image.reconstruction.weight", 12, hidden), vector("image.reconstruction.bias", false, 12, 0.0);
        vector("contrastive.log_inverse_temperature", true, 2, 1.0), vector("contrastive.bias", true, 2, 0.0);
    }
    tensor_file_t const &file() const noexcept { return file_; }

  private:
    /** Uniform around `center`, `spread` to either side: `spread` squared over three is the variance. */
    void fill(std::string name, bool f32, std::vector<std::size_t> shape, double center, double spread) {
        stored_tensor_t tensor {std::move(name), f32, std::move(shape), {}};
        std::size_t const count = tensor.rows() * tensor.columns();
        tensor.data.resize(count * tensor.scalar_bytes());
        for (std::size_t i = 0; i < count; ++i) tensor.put(i, float(center + spread * (draws_() * 0x1p-31 - 1.0)));
        file_.tensors.push_back(std::move(tensor));
    }
    void matrix(std::string name, std::size_t rows, std::size_t columns, double deviation) {
        fill(std::move(name), false, {rows, columns}, 0.0, deviation * std::sqrt(3.0));
    }
    void linear(std::string name, std::size_t rows, std::size_t columns) {
        matrix(std::move(name), rows, columns, 1.0 / std::sqrt(double(columns)));
    }
    void vector(std::string name, bool f32, std::size_t columns, double center) {
        fill(std::move(name), f32, {columns}, center, 0.5);
    }
    void add_block(std::string const &prefix, std::size_t hidden) {
        vector(prefix + "attention.norm", true, hidden, 1.0);
        linear(prefix + "attention.qkv", 3 * hidden, hidden), linear(prefix + "attention.output", hidden, hidden);
        vector(prefix + "mlp.norm", true, hidden, 1.0);
        linear(prefix + "mlp.gate", 4 * hidden, hidden), linear(prefix + "mlp.up", 4 * hidden, hidden);
        linear(prefix + "mlp.down", hidden, 4 * hidden);
    }
};

/** The formulas of docs/DESIGN.md in double, without rounding, as plain loops. */
class oracle_t {
    tensor_file_t const &file_;

    stored_tensor_t const &tensor(std::string const &name) const { return *file_.find(name); }
    double element(std::string const &name, std::size_t index) const { return tensor(name).at(index); }

    row_t product(std::string const &name, row_t const &input) const {
        stored_tensor_t const &weight = tensor(name);
        row_t output(weight.rows());
        for (std::size_t row = 0; row < output.size(); ++row)
            for (std::size_t i = 0; i < input.size(); ++i) output[row] += weight.at(row * input.size() + i) * input[i];
        return output;
    }
    row_t rmsnorm(row_t const &x, std::string const &scales) const {
        double squares = 0;
        for (double const value : x) squares += value * value;
        row_t normed = x;
        for (std::size_t i = 0; i < x.size(); ++i)
            normed[i] *= element(scales, i) / std::sqrt(squares / double(x.size()) + 1e-6);
        return normed;
    }
    static void add(row_t &x, row_t const &more) {
        for (std::size_t i = 0; i < x.size(); ++i) x[i] += more[i];
    }
    static row_t softmax(row_t scores) {
        double const highest = *std::max_element(scores.begin(), scores.end());
        double sum = 0;
        for (double &score : scores) sum += score = std::exp(score - highest);
        for (double &score : scores) score /= sum;
        return scores;
    }
    /** One head's slice, turned by its place. */
    static row_t turned(row_t const &row, std::size_t first, std::size_t place) {
        row_t slice(row.begin() + std::ptrdiff_t(first), row.begin() + std::ptrdiff_t(first + 64));
        for (std::size_t pair = 0; pair < 32; ++pair) {
            double const angle = double(place) * std::pow(10000.0, -double(pair) / 32), a = slice[pair];
            double const b = slice[pair + 32];
            slice[pair] = a * std::cos(angle) - b * std::sin(angle);
            slice[pair + 32] = a * std::sin(angle) + b * std::cos(angle);
        }
        return slice;
    }
    static double dot(row_t const &a, row_t const &b) {
        double sum = 0;
        for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
        return sum;
    }

    rows_t attended(rows_t const &qkv, std::size_t hidden) const {
        rows_t outputs(qkv.size(), row_t(hidden));
        for (std::size_t first = 0; first < hidden; first += 64)
            for (std::size_t token = 0; token < qkv.size(); ++token) {
                row_t scores;
                for (std::size_t other = 0; other < qkv.size(); ++other)
                    scores.push_back(dot(turned(qkv[token], first, token), turned(qkv[other], hidden + first, other)) /
                                     8);
                row_t const weights = softmax(scores);
                for (std::size_t other = 0; other < qkv.size(); ++other)
                    for (std::size_t i = first; i < first + 64; ++i)
                        outputs[token][i] += weights[other] * qkv[other][2 * hidden + i];
            }
        return outputs;
    }
    void pass_block(std::string const &prefix, rows_t &x) const {
        rows_t qkv;
        for (row_t const &row : x)
            qkv.push_back(product(prefix + "attention.qkv", rmsnorm(row, prefix + "attention.norm")));
        rows_t const outputs = attended(qkv, x[0].size());
        for (std::size_t token = 0; token < x.size(); ++token) {
            add(x[token], product(prefix + "attention.output", outputs[token]));
            row_t const normed = rmsnorm(x[token], prefix + "mlp.norm");
            row_t gate = product(prefix + "mlp.gate", normed);
            row_t const up = product(prefix + "mlp.up", normed);
            for (std::size_t i = 0; i < gate.size(); ++i) gate[i] *= up[i] / (1 + std::exp(-gate[i]));
            add(x[token], product(prefix + "mlp.down", gate));
        }
    }
    row_t pooled(rows_t const &states) const {
        row_t p(states[0].size());
        for (std::size_t first = 0; first < p.size(); first += 64) {
            row_t scores(states.size());
            for (std::size_t token = 0; token < states.size(); ++token)
                for (std::size_t i = first; i < first + 64; ++i)
                    scores[token] += element("pool.query", i) * states[token][i] / 8;
            row_t const weights = softmax(scores);
            for (std::size_t token = 0; token < states.size(); ++token)
                for (std::size_t i = first; i < first + 64; ++i) p[i] += weights[token] * states[token][i];
        }
        row_t hidden = product("pool.hidden", p);
        for (double &value : hidden) value /= 1 + std::exp(-value);
        add(p, product("pool.output", hidden));
        return p;
    }
    static row_t unit(row_t row) {
        double const length = std::sqrt(dot(row, row));
        for (double &value : row) value /= length;
        return row;
    }

  public:
    explicit oracle_t(tensor_file_t const &file) : file_(file) {}

    /** A text, a masked patch and a patch of an image as one item: that every entry has to be right for. */
    rows_t enter(std::string_view text) const {
        std::size_t const hidden = tensor("norm").columns();
        rows_t x;
        for (char const byte : text) {
            row_t &row = x.emplace_back();
            for (std::size_t i = 0; i < hidden; ++i)
                row.push_back(element("text.embedding", std::uint8_t(byte) * hidden + i));
        }
        row_t patch, &mask = x.emplace_back();
        for (std::size_t i = 0; i < hidden; ++i) mask.push_back(element("image.mask", i));
        for (std::size_t i = 0; i < 12; ++i) patch.push_back(double(i) / 6 - 1);
        row_t &row = x.emplace_back(product("image.projection.weight", patch));
        for (std::size_t i = 0; i < hidden; ++i) row[i] += element("image.projection.bias", i);
        return x;
    }

    /** Each head's answer by name; embeddings cut to `dimensions`, unit length. */
    std::map<std::string, row_t> answers(std::string_view text, std::size_t dimensions) const {
        rows_t x = enter(text);
        for (std::size_t block = 0; file_.find(fmt::format("blocks.{}.mlp.norm", block)); ++block)
            pass_block(fmt::format("blocks.{}.", block), x);
        rows_t states;
        for (row_t const &row : x) states.push_back(rmsnorm(row, "norm"));
        row_t const embedding = pooled(states);
        std::map<std::string, row_t> found;
        found["embedding"] = unit(row_t(embedding.begin(), embedding.begin() + std::ptrdiff_t(dimensions)));
        found["token vector"] = unit(product("tokens.projection", states[1]));
        found["decoder"] = product("decoder.weight", states[2]);
        for (std::size_t i = 0; i < 256; ++i) found["decoder"][i] += element("decoder.bias", i);
        found["reconstruction"] = product("image.reconstruction.weight", states.back());
        for (std::size_t i = 0; i < 12; ++i) found["reconstruction"][i] += element("image.reconstruction.bias", i);
        return found;
    }
    /** Of two texts' whole embeddings. */
    double cosine(std::string_view a, std::string_view b) const {
        std::size_t const hidden = tensor("norm").columns();
        return dot(answers(a, hidden)["embedding"], answers(b, hidden)["embedding"]);
    }
};

double largest_difference(tensor_file_t const &before, tensor_file_t const &after) {
    std::size_t const dimensions = before.find("norm")->columns();
    double largest = 0;
    for (char const *text : {"grow", "\xc3\xbc!"}) {
        auto const expected = oracle_t(before).answers(text, dimensions),
                   found = oracle_t(after).answers(text, dimensions);
        for (auto const &[head, row] : expected)
            for (std::size_t i = 0; i < row.size(); ++i)
                largest = std::max(largest, std::fabs(row[i] - found.at(head)[i]));
    }
    double const cosines = oracle_t(before).cosine("grow", "wide") - oracle_t(after).cosine("grow", "wide");
    return std::max(largest, std::fabs(cosines));
}

/** Of answers of magnitude 4 at most, after `norms` sums of up to `terms` products each, every one off by eps a term. */
double rounding_bound(tensor_file_t const &file) {
    double const terms = 4.0 * double(file.find("norm")->columns()), norms = 2.0 * std::stod(file.note("depth")) + 1;
    return 4 * 0x1p-52 * terms * norms;
}

/** Beside zeros every rmsnorm is off by its scale's float32 rounding, and by half of what the epsilon of 1e-6 counts
 *  more beside a mean of squares above 1/2. What a block adds is at most cubic in what it reads: gate, up and scores. */
double padding_bound(tensor_file_t const &file, double ratio) {
    double const norms = 2.0 * std::stod(file.note("depth")) + 1;
    return 4 * 3 * norms * (0x1p-24 + 1e-6 * (ratio - 1));
}

float at(tensor_file_t const &file, char const *name, std::size_t row, std::size_t column) {
    stored_tensor_t const &tensor = *file.find(name);
    return tensor.at(row * tensor.columns() + column);
}

std::string complaint_of(auto &&call) {
    try {
        call();
        return "accepted";
    } catch (tool_error_t const &error) {
        return error.what();
    }
}

} // namespace

TEST(Grow, DeeperModelsAddNothingToTheBit) {
    tensor_file_t const before = random_file_t(128, 2).file(), after = deepened(before, 4);
    EXPECT_EQ(largest_difference(before, after), 0.0);
    EXPECT_EQ(largest_difference(before, deepened(before, 3)), 0.0);
}

TEST(Grow, TwiceAsWideModelsAgreeToRounding) {
    tensor_file_t const before = random_file_t(128, 2).file(), after = widened(before, 256);
    EXPECT_LE(largest_difference(before, after), rounding_bound(after));
}

TEST(Grow, WidthsBetweenAgreeToTheEpsilon) {
    tensor_file_t const before = random_file_t(256, 1).file(), after = widened(before, 384);
    EXPECT_LE(largest_difference(before, after), padding_bound(after, 1.5));
}

TEST(Grow, AnyOrderAnyNumberOfTimes) {
    tensor_file_t const before = random_file_t(128, 1).file();
    tensor_file_t const twice = widened(widened(before, 256), 512);
    EXPECT_LE(largest_difference(before, twice), rounding_bound(twice));
    tensor_file_t const mixed = widened(deepened(widened(deepened(before, 2), 256), 3), 384);
    EXPECT_LE(largest_difference(before, mixed), padding_bound(mixed, 1.5));
}

TEST(Grow, NewBlocksFollowOldOnesEvenly) {
    tensor_file_t const before = random_file_t(128, 3).file(), five = deepened(before, 5);
    // Blocks 1 and 2 are followed: (i + 1) * 2 / 3 goes 0, 1, 2.
    std::size_t const sources[] = {0, 1, 1, 2, 2};
    bool const identities[] = {false, false, true, false, true};
    for (std::size_t block = 0; block < 5; ++block) {
        for (char const *name : {"attention.qkv", "mlp.gate", "mlp.norm", "attention.output", "mlp.down"}) {
            stored_tensor_t const *const found = five.find(fmt::format("blocks.{}.{}", block, name));
            ASSERT_NE(found, nullptr) << block << name;
            bool const output = found->name.ends_with("output") || found->name.ends_with("down");
            std::string const &source = before.find(fmt::format("blocks.{}.{}", sources[block], name))->data;
            EXPECT_EQ(found->data, identities[block] && output ? std::string(source.size(), '\0') : source)
                << found->name;
        }
    }
    EXPECT_EQ(five.find("blocks.5.mlp.down"), nullptr);
    EXPECT_EQ(five.tensors.size(), before.tensors.size() + 2 * 7);
    EXPECT_EQ(five.tensors.back().name, "contrastive.bias"); // the order of the file
    EXPECT_EQ(five.note("depth"), "5");
    EXPECT_EQ(five.note("grown"), "128 x 3 at step 3 to 128 x 5");
    EXPECT_EQ(widened(five, 256).note("grown"), "128 x 3 at step 3 to 128 x 5; 128 x 5 at step 3 to 256 x 5");
}

TEST(Grow, TwiceTheWidthByHand) {
    tensor_file_t const before = random_file_t(128, 1).file(), after = widened(before, 256);
    EXPECT_EQ(at(after, "text.embedding", 65, 0), 4.0f); // the constant of local heads
    EXPECT_EQ(at(after, "text.embedding", 65, 128), 4.0f);
    EXPECT_EQ(at(after, "text.embedding", 65, 200), at(before, "text.embedding", 65, 72));
    EXPECT_EQ(at(after, "blocks.0.mlp.norm", 0, 130), at(before, "blocks.0.mlp.norm", 0, 2));
    // Row 256 + 140 of qkv is k's row 140, a copy of k's row 12: row 128 + 12 before.
    EXPECT_EQ(at(after, "blocks.0.attention.qkv", 396, 7) + at(after, "blocks.0.attention.qkv", 396, 135),
              at(before, "blocks.0.attention.qkv", 140, 7));
    // Column 3 * 256 + 130 of down is the copy of 3 * 256 + 2, which was 3 * 128 + 2; row 129 repeats row 1.
    EXPECT_EQ(at(after, "blocks.0.mlp.down", 129, 770) + at(after, "blocks.0.mlp.down", 129, 898),
              at(before, "blocks.0.mlp.down", 1, 386));
    EXPECT_EQ(at(after, "image.projection.weight", 130, 5), at(before, "image.projection.weight", 2, 5));
    EXPECT_EQ(after.find("decoder.bias")->data, before.find("decoder.bias")->data);
    EXPECT_EQ(after.find("contrastive.log_inverse_temperature")->data,
              before.find("contrastive.log_inverse_temperature")->data);
    EXPECT_EQ(after.note("hidden"), "256");
}

TEST(Grow, SharesAddUpExactlyAndDiffer) {
    tensor_file_t const before = random_file_t(128, 1).file(), after = widened(before, 256);
    std::size_t equal = 0, same_in_twins = 0, first_larger = 0;
    constexpr std::size_t count = 128 * 128;
    for (std::size_t i = 0; i < count; ++i) {
        std::size_t const row = i / 128, column = i % 128;
        float const whole = at(before, "pool.hidden", row, column), first = at(after, "pool.hidden", row, column);
        float const second = at(after, "pool.hidden", row, column + 128);
        ASSERT_EQ(first + second, whole) << row << " " << column;
        // Up to 5/8 against 3/8, either off by a rounding of 2^-9 of 5/8.
        ASSERT_LE(std::fabs(first - second), std::fabs(whole) * (0.25f + 0x1p-8f)) << row << " " << column;
        equal += first == second, first_larger += std::fabs(first) > std::fabs(second);
        same_in_twins += first == at(after, "pool.hidden", row + 128, column);
    }
    // N is uniform over 16 units in the last place of W/2 or more; below half a unit it rounds to nothing.
    EXPECT_LT(equal, count / 16);
    // Two draws fall on one of 16 values at least, with one of two signs, less than once in 16.
    EXPECT_LT(same_in_twins, count / 16);
    EXPECT_NEAR(double(first_larger) / count, 0.5, 0.5 / 16 + 5 * 0.5 / std::sqrt(double(count)));
}

TEST(Grow, WidthsBetweenByHand) {
    tensor_file_t const before = random_file_t(256, 1).file(), after = widened(before, 384);
    EXPECT_EQ(at(after, "text.embedding", 65, 255), at(before, "text.embedding", 65, 255));
    EXPECT_EQ(at(after, "text.embedding", 65, 256), 0.0f);
    EXPECT_EQ(at(after, "image.mask", 0, 383), 0.0f);
    EXPECT_EQ(at(after, "norm", 0, 300), at(before, "norm", 0, 44) * 0.816496580927726f); // sqrt(2 / 3)
    // Head 4 of q is a copy of head 0: it reads x as before, and zeros with weights of either sign.
    EXPECT_EQ(at(after, "blocks.0.attention.qkv", 257, 9), at(before, "blocks.0.attention.qkv", 1, 9));
    EXPECT_EQ(std::fabs(at(after, "blocks.0.attention.qkv", 257, 265)),
              std::fabs(at(before, "blocks.0.attention.qkv", 1, 9)));
    // Heads 0, 1 are there twice, heads 2, 3 once.
    EXPECT_EQ(at(after, "blocks.0.attention.output", 5, 10) + at(after, "blocks.0.attention.output", 5, 266),
              at(before, "blocks.0.attention.output", 5, 10));
    EXPECT_EQ(at(after, "blocks.0.attention.output", 5, 130), at(before, "blocks.0.attention.output", 5, 130));
    EXPECT_EQ(at(after, "blocks.0.attention.output", 256, 130), 0.0f);
    EXPECT_EQ(at(after, "pool.output", 300, 1), 0.0f);
}

TEST(Grow, RefusesWhatIsNoGrowth) {
    tensor_file_t const file = random_file_t(128, 2).file();
    EXPECT_NE(complaint_of([&] { deepened(file, 2); }).find("choose from 3 to 4"), std::string::npos);
    EXPECT_NE(complaint_of([&] { deepened(file, 1); }).find("choose from 3 to 4"), std::string::npos);
    EXPECT_NE(complaint_of([&] { deepened(file, 5); }).find("choose from 3 to 4"), std::string::npos);
    EXPECT_NE(complaint_of([&] { widened(file, 192); }).find("choose 256"), std::string::npos);
    EXPECT_NE(complaint_of([&] { widened(file, 384); }).find("choose from 129 to 256"), std::string::npos);
    tensor_file_t strange = file;
    strange.tensors.push_back({"smell.projection", false, {2, 128}, std::string(512, '\0')});
    EXPECT_NE(complaint_of([&] { widened(strange, 256); }).find("\"smell.projection\""), std::string::npos);
    strange.tensors.back() = {"smell.mask", false, {100}, std::string(200, '\0')};
    EXPECT_NE(complaint_of([&] { widened(strange, 256); }).find("\"smell.mask\": its shape [100]"), std::string::npos);
}

TEST(Grow, MediaEntriesAreProbed) {
    tensor_file_t const before = random_file_t(256, 1).file();
    for (std::size_t const hidden : {384, 512}) {
        tensor_file_t after = widened(before, hidden);
        probe_rows_t const expected = probe_media_entries(before, 256);
        EXPECT_EQ(expected.values.size(), 17u * 256); // 16 patches and the MASK row
        EXPECT_GT(lowest_cosine(expected, probe_media_entries(after, 256)), 1 - 1e-12);
        after.tensors[after.tensors.size() - 6].put(3, 9.0f);
        ASSERT_EQ(after.tensors[after.tensors.size() - 6].name, "image.projection.bias");
        EXPECT_LT(lowest_cosine(expected, probe_media_entries(after, 256)), 0.9999);
    }
}

TEST(Grow, LowestCosineByHand) {
    EXPECT_DOUBLE_EQ(lowest_cosine({{1, 0, 3, 4}, 2}, {{2, 0, 4, 3}, 2}), 0.96); // 1 and 24 / 25
    EXPECT_DOUBLE_EQ(lowest_cosine({{}, 2}, {{}, 2}), 1.0);
    EXPECT_TRUE(std::isnan(lowest_cosine({{1, 0}, 2}, {{NAN, 0}, 2})));
    EXPECT_TRUE(std::isnan(lowest_cosine({{1, 0}, 2}, {{1, 0, 0, 1}, 2})));
    EXPECT_FALSE(lowest_cosine({{1, 0}, 2}, {{0, 0}, 2}) >= 0.9999);
}

TEST(Grow, FilesComeBackAsTheyWere) {
    tensor_file_t const file = random_file_t(128, 1).file();
    std::string const bytes = serialized(file);
    tensor_file_t const back = parse_tensors(bytes, "back");
    EXPECT_EQ(back.metadata, file.metadata);
    ASSERT_EQ(back.tensors.size(), file.tensors.size());
    for (std::size_t i = 0; i < file.tensors.size(); ++i) {
        EXPECT_EQ(back.tensors[i].name, file.tensors[i].name);
        EXPECT_EQ(back.tensors[i].shape, file.tensors[i].shape);
        EXPECT_EQ(back.tensors[i].data, file.tensors[i].data);
    }
    EXPECT_EQ((std::uint8_t(bytes[0]) + 256 * std::uint8_t(bytes[1]) + 8) % 64, 0);
    for (std::size_t const length : {0ul, 7ul, 8ul, 100ul, bytes.size() - 1})
        EXPECT_NE(complaint_of([&] { parse_tensors(bytes.substr(0, length), "cut"); }), "accepted") << length;
    EXPECT_EQ(as_bf16(1.00390625f), 1.0f);      // halfway between 1 and 1 + 2^-7: to even
    EXPECT_EQ(as_bf16(1.01171875f), 1.015625f); // halfway between odd and even above
    EXPECT_EQ(as_bf16(-1.00390637f), -1.0078125f);
}
