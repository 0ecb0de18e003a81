/**
 *  @file batch.hpp
 *  @brief Arrow 2: items → batch. Ragged tokens without padding, and the rotary row of each token's coordinates.
 *
 *  A text item's byte i has coordinates (i, i, i), so its rotary rows are the first rows of one table of integer
 *  positions. Pairs turn by coordinate * 10000^(-j / 32) (Su et al., 2021); pair j reads axis t, y, t, x for
 *  j mod 4 = 0, 1, 2, 3. Angles are computed in double, so every class rotates by the same bits.
 */
#pragma once
#include <algorithm>
#include <cstring>
#include <span>

#include <uform/encoder/geometry.hpp>
#include <uform/utilities/buffer.hpp>
#include <uform/utilities/elementary.hpp>
#include <uform/utilities/lane.hpp>

namespace uform {

/** Calls `body(pair, frequency)` for the 32 pairs of a head: 10000^(-pair / 32), the fastest first. */
template <typename body_>
void for_each_frequency(body_ const &body) noexcept {
    double const ratio = exp_of(-log_of(10000.0) / double(head_pairs_k));
    double frequency = 1;
    for (std::size_t pair = 0; pair < head_pairs_k; ++pair, frequency *= ratio) body(pair, frequency);
}

/** The 32 cosines and 32 sines [64] of one coordinate, whole or not. */
template <typename wide_>
void turn_at(double coordinate, wide_ *row) noexcept {
    for_each_frequency([&](std::size_t pair, double frequency) {
        row[pair] = wide_(cos_of(coordinate * frequency)), row[head_pairs_k + pair] = wide_(sin_of(coordinate * frequency));
    });
}

/** Rows of 32 cosines and 32 sines, one for each integer position below the context. */
template <typename wide_>
class rotary_table_t {
    buffer_t<wide_> rows_; // [context, 64]

  public:
    [[nodiscard]] bool build(std::size_t context) noexcept {
        if (!rows_.resize(context * head_width_k)) return false;
        for (std::size_t position = 0; position < context; ++position)
            turn_at(double(position), rows_.data() + position * head_width_k);
        return true;
    }
    std::size_t context() const noexcept { return rows_.size() / head_width_k; }
    std::size_t bytes() const noexcept { return rows_.size() * sizeof(wide_); }
    wide_ const *row(std::size_t position) const noexcept { return rows_.data() + position * head_width_k; }
};

/** A packed slice of text items, as the entry and the blocks read it. */
template <typename wide_>
struct text_batch_t {
    items_t items;       // offsets [count + 1]
    std::uint16_t *ids;  // [tokens]
    wide_ const *rotary; // [tokens, 64]
};

/** Tokens of a text item: its bytes up to the context, or one PAD where it has none. */
inline std::size_t text_tokens(std::size_t bytes, std::size_t context) noexcept {
    return bytes == 0 ? 1 : bytes < context ? bytes : context;
}

/** Copies the first positions' rotary rows for every item of a batch; false when memory is out. */
template <typename wide_>
[[nodiscard]] bool claim_rotary(lane_t &lane, rotary_table_t<wide_> const &table, items_t items,
                                text_batch_t<wide_> &batch) noexcept {
    wide_ *rotary = lane.claim<wide_>(items.tokens() * head_width_k);
    if (!rotary) return false;
    for (std::size_t item = 0; item < items.count(); ++item) {
        std::size_t const begin = items.offsets[item], tokens = items.offsets[item + 1] - begin;
        std::memcpy(static_cast<void *>(rotary + begin * head_width_k), table.row(0),
                    tokens * head_width_k * sizeof(wide_));
    }
    batch.items = items, batch.rotary = rotary;
    return true;
}

/** Packs items `[0, count)` of `tokens_of(item)` tokens, whose ids `fill(item, ids)` writes; false when memory is out. */
template <typename wide_, typename tokens_of_, typename fill_>
[[nodiscard]] bool pack_items(lane_t &lane, rotary_table_t<wide_> const &table, std::size_t count,
                              tokens_of_ const &tokens_of, fill_ const &fill, text_batch_t<wide_> &batch) noexcept {
    std::uint32_t *offsets = lane.claim<std::uint32_t>(count + 1);
    if (!offsets) return false;
    offsets[0] = 0;
    for (std::size_t item = 0; item < count; ++item) offsets[item + 1] = offsets[item] + std::uint32_t(tokens_of(item));
    batch.ids = lane.claim<std::uint16_t>(offsets[count]);
    if (!batch.ids) return false;
    for (std::size_t item = 0; item < count; ++item)
        fill(item, std::span(batch.ids + offsets[item], offsets[item + 1] - offsets[item]));
    return claim_rotary(lane, table, items_t {{offsets, count + 1}}, batch);
}

/** Tokens of a text and the MASK behind it, for which the text gives up one token of the context. */
inline std::size_t question_tokens(std::size_t bytes, std::size_t context) noexcept {
    return std::min(bytes, context - 1) + 1;
}

/**
 *  Packs texts `[0, count)`, each cut to the context, into lane scratch; false when memory is out. One for which
 *  `asks(item)` gets a MASK behind it that a decoder is to read.
 */
template <typename wide_, typename text_of_, typename asks_>
[[nodiscard]] bool pack_asked(lane_t &lane, rotary_table_t<wide_> const &table, std::size_t count,
                              text_of_ const &text_of, asks_ const &asks, text_batch_t<wide_> &batch) noexcept {
    auto const tokens_of = [&](std::size_t item) {
        std::size_t const bytes = text_of(item).size();
        return asks(item) ? question_tokens(bytes, table.context()) : text_tokens(bytes, table.context());
    };
    auto const fill = [&](std::size_t item, std::span<std::uint16_t> ids) {
        std::span<unsigned char const> const text = text_of(item);
        std::copy_n(text.begin(), std::min(text.size(), ids.size()), ids.begin());
        if (asks(item))
            ids.back() = mask_token_k;
        else if (text.empty())
            ids[0] = pad_token_k;
    };
    return pack_items(lane, table, count, tokens_of, fill, batch);
}

/** The same where none asks. */
template <typename wide_, typename text_of_>
[[nodiscard]] bool pack_texts(lane_t &lane, rotary_table_t<wide_> const &table, std::size_t count,
                              text_of_ const &text_of, text_batch_t<wide_> &batch) noexcept {
    return pack_asked(
        lane, table, count, text_of, [](std::size_t) { return false; }, batch);
}

/** The same where all ask. */
template <typename wide_, typename text_of_>
[[nodiscard]] bool pack_questions(lane_t &lane, rotary_table_t<wide_> const &table, std::size_t count,
                                  text_of_ const &text_of, text_batch_t<wide_> &batch) noexcept {
    return pack_asked(
        lane, table, count, text_of, [](std::size_t) { return true; }, batch);
}

} // namespace uform
