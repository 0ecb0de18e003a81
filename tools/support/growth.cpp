/**
 *  @file growth.cpp
 *  @brief One rule for each tensor: which axis repeats, which shares its weights, and where the factors go.
 */
#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <utility>

#include <fmt/ranges.h>

#include "support/error.hpp"
#include "support/growth.hpp"

namespace uform::tools {

namespace {

/** What becomes of an axis of hidden width, or of several times that: three in qkv, four in the MLP, each widened by
 *  itself. Outputs are rows of a linear weight, inputs are columns; a vector has columns alone. */
enum class axis_t {
    kept_k,
    inner_out_k,    // heads, inner columns of the MLP and of the pool: repeated
    inner_in_k,     // reads those: weights are shared between the copies
    stream_out_k,   // writes x, or the embedding: repeated, or zeros in the new columns
    stream_in_k,    // reads x, or the pooled states: shared, or anything at all where it reads zeros
    stream_scale_k, // of an rmsnorm
};

struct rule_t {
    std::string_view ending; // of the tensor's name
    axis_t rows, columns;    // of a vector, the columns
};

using enum axis_t;

// The first that fits.
constexpr rule_t rules_k[] = {
    {"text.embedding", kept_k, stream_out_k},
    {"norm", kept_k, stream_scale_k},
    {".attention.qkv", inner_out_k, stream_in_k},
    {".attention.output", stream_out_k, inner_in_k},
    {".mlp.gate", inner_out_k, stream_in_k},
    {".mlp.up", inner_out_k, stream_in_k},
    {".mlp.down", stream_out_k, inner_in_k},
    {"pool.query", kept_k, inner_out_k},
    {"pool.hidden", inner_out_k, stream_in_k},
    {"pool.output", stream_out_k, inner_in_k},
    {"tokens.projection", kept_k, stream_in_k},
    {"decoder.weight", kept_k, stream_in_k},
    {"decoder.bias", kept_k, kept_k},
    {".reconstruction.weight", kept_k, stream_in_k},
    {".reconstruction.bias", kept_k, kept_k},
    {".projection.weight", stream_out_k, kept_k}, // of a media entry
    {".projection.bias", kept_k, stream_out_k},
    {".mask", kept_k, stream_out_k},
    {"choices.inverse_temperatures", kept_k, kept_k},
    {".log_inverse_temperature", kept_k, kept_k},
    {"contrastive.bias", kept_k, kept_k},
    {"late_interaction.bias", kept_k, kept_k},
};

rule_t const &rule_of(std::string_view name) {
    auto const *rule = std::find_if(std::begin(rules_k), std::end(rules_k),
                                    [&](rule_t const &each) { return name.ends_with(each.ending); });
    if (rule == std::end(rules_k)) fail("tensor \"{}\": there is no rule for widening it; remove it first", name);
    return *rule;
}

/** The finalizer of SplitMix64 (Steele, Lea, Flood 2014): a bijection that spreads every bit. */
std::uint64_t mix(std::uint64_t x) noexcept {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/** FNV-1a. */
std::uint64_t hash_of(std::string_view text) noexcept {
    std::uint64_t hash = 0xcbf29ce484222325u;
    for (char const byte : text) hash = (hash ^ std::uint8_t(byte)) * 0x100000001b3u;
    return hash;
}

/** Where the indices of a widened axis come from: those from `before` on repeat the first ones. */
struct stretch_t {
    std::size_t before = 0, after = 0;

    bool doubles() const noexcept { return after == 2 * before; }
    bool fits(std::size_t extent) const noexcept { return extent % before == 0; }
    std::size_t extent(std::size_t old_extent) const noexcept { return old_extent / before * after; }
    bool is_new(std::size_t index) const noexcept { return index % after >= before; }
    std::size_t source(std::size_t index) const noexcept {
        return index / after * before + index % after - (is_new(index) ? before : 0);
    }
    bool is_twice(std::size_t index) const noexcept { return source(index) % before < after - before; }
};

/** One of two parts of `value`, a BFloat16. The larger lies between a half and five eighths of it, so that by Sterbenz's
 *  lemma the rest is a BFloat16 too; the draw says how large, and which copy gets it. */
float share_of(float value, bool is_new, std::uint64_t draw) noexcept {
    float const noise = float(draw >> 40) * 0x1p-26f; // 24 bits, below 1/4
    float const larger = as_bf16(value * 0.5f * (1.0f + noise));
    return is_new == bool(draw & 1) ? larger : value - larger;
}

class widener_t {
    stretch_t stretch_;
    rule_t const &rule_;
    stored_tensor_t const &from_;
    std::uint64_t key_; // of the tensor at this width: growing twice draws twice

  public:
    widener_t(stretch_t stretch, stored_tensor_t const &from)
        : stretch_(stretch), rule_(rule_of(from.name)), from_(from), key_(mix(hash_of(from.name) + stretch.after)) {
        bool const rows_fit = rule_.rows == kept_k || (from.shape.size() == 2 && stretch.fits(from.rows()));
        bool const columns_fit = rule_.columns == kept_k || stretch.fits(from.columns());
        if (from.shape.empty() || from.shape.size() > 2 || !rows_fit || !columns_fit)
            fail("tensor \"{}\": its shape [{}] does not fit the checkpoint's width", from.name,
                 fmt::join(from.shape, ", ")); // one the engine does not use, or it had refused it
    }

    stored_tensor_t widened() const {
        stored_tensor_t to {from_.name, from_.f32, from_.shape, {}};
        if (rule_.columns != kept_k) to.shape.back() = stretch_.extent(from_.shape.back());
        if (rule_.rows != kept_k) to.shape.front() = stretch_.extent(from_.shape.front());
        std::size_t const rows = to.rows(), columns = to.columns();
        to.data.resize(rows * columns * to.scalar_bytes());
        for (std::size_t row = 0; row < rows; ++row)
            for (std::size_t column = 0; column < columns; ++column)
                to.put(row * columns + column, value_at(row, column));
        return to;
    }

  private:
    bool is_left_zero(axis_t axis, std::size_t index) const noexcept {
        return axis == stream_out_k && stretch_.is_new(index) && !stretch_.doubles();
    }

    float value_at(std::size_t row, std::size_t column) const noexcept {
        std::size_t const old_row = rule_.rows == kept_k ? row : stretch_.source(row);
        std::size_t const old_column = rule_.columns == kept_k ? column : stretch_.source(column);
        if (is_left_zero(rule_.rows, row) || is_left_zero(rule_.columns, column)) return 0.0f;
        float const value = from_.at(old_row * from_.columns() + old_column);
        // Rows that are copies share differently.
        std::uint64_t const draw = mix(key_ + row * from_.columns() + old_column);
        switch (rule_.columns) {
        case stream_scale_k:
            return stretch_.doubles() ? value : value * stream_scale();
        case stream_in_k:
            if (stretch_.doubles()) return share_of(value, stretch_.is_new(column), draw);
            return stretch_.is_new(column) && (draw & 1) ? -value : value;
        case inner_in_k:
            return stretch_.is_twice(column) ? share_of(value, stretch_.is_new(column), draw) : value;
        default:
            return value;
        }
    }

    /** Zeros beside x lower its mean of squares by this factor's square. */
    float stream_scale() const noexcept { return float(std::sqrt(double(stretch_.before) / double(stretch_.after))); }
};

/** "blocks.<i>.<rest>" taken apart; nothing for other names. */
std::optional<std::pair<std::size_t, std::string_view>> in_block(std::string_view name) noexcept {
    constexpr std::string_view start = "blocks.";
    if (!name.starts_with(start)) return std::nullopt;
    std::size_t block = 0;
    char const *const first = name.data() + start.size(), *const last = name.data() + name.size();
    auto const [end, failed] = std::from_chars(first, last, block);
    if (failed != std::errc() || end == last || *end != '.') return std::nullopt;
    return std::pair(block, std::string_view(end + 1, std::size_t(last - end - 1)));
}

/** The tensors of one block under another number. */
void append_block(std::vector<stored_tensor_t> const &from, std::size_t block, std::size_t number, bool identity,
                  std::vector<stored_tensor_t> &to) {
    for (stored_tensor_t const &tensor : from) {
        auto const place = in_block(tensor.name);
        if (!place || place->first != block) continue;
        stored_tensor_t &copy = to.emplace_back(tensor);
        copy.name = fmt::format("blocks.{}.{}", number, place->second);
        if (identity && (place->second == "attention.output" || place->second == "mlp.down"))
            std::fill(copy.data.begin(), copy.data.end(), '\0');
    }
}

std::size_t number_in(tensor_file_t const &file, std::string_view key) {
    std::string const text = file.note(key);
    std::size_t value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    if (value == 0) fail("the checkpoint's \"{}\" is \"{}\", where a number above zero belongs", key, text);
    return value;
}

void check_doubling(std::string_view what, std::size_t before, std::size_t after) {
    if (after <= before || after > 2 * before)
        fail_usage("--{}: {} cannot grow to {}; choose from {} to {}, and more in several steps", what, before, after,
                   before + 1, 2 * before);
}

/** Adds what was done to the history that the checkpoint carries. */
void note_growth(tensor_file_t const &before, tensor_file_t &after) {
    std::string history = before.note("grown");
    if (!history.empty()) history += "; ";
    history += fmt::format("{} x {} at step {} to {} x {}", before.note("hidden"), before.note("depth"),
                           before.note("step"), after.note("hidden"), after.note("depth"));
    after.set_note("grown", std::move(history));
}

} // namespace

tensor_file_t deepened(tensor_file_t const &file, std::size_t depth) {
    std::size_t const before = number_in(file, "depth"), added = depth - before;
    check_doubling("deepen", before, depth);
    tensor_file_t grown {file.metadata, {}};
    bool blocks_done = false;
    for (stored_tensor_t const &tensor : file.tensors) {
        if (!in_block(tensor.name)) {
            grown.tensors.push_back(tensor);
            continue;
        }
        if (std::exchange(blocks_done, true)) continue;
        std::size_t number = 0;
        for (std::size_t block = 0; block < before; ++block) {
            append_block(file.tensors, block, number++, false, grown.tensors);
            bool const followed = (block + 1) * added / before > block * added / before;
            if (followed) append_block(file.tensors, block, number++, true, grown.tensors);
        }
    }
    grown.set_note("depth", std::to_string(depth));
    note_growth(file, grown);
    return grown;
}

tensor_file_t widened(tensor_file_t const &file, std::size_t hidden) {
    constexpr std::size_t step = 128; // two heads, as every width of this model
    std::size_t const before = number_in(file, "hidden");
    if (hidden % step)
        fail_usage("--widen: {} is not a multiple of {}; choose {}", hidden, step, (hidden / step + 1) * step);
    check_doubling("widen", before, hidden);
    tensor_file_t grown {file.metadata, {}};
    for (stored_tensor_t const &tensor : file.tensors)
        grown.tensors.push_back(widener_t({before, hidden}, tensor).widened());
    grown.set_note("hidden", std::to_string(hidden));
    note_growth(file, grown);
    return grown;
}

} // namespace uform::tools
