/**
 *  @file scores.cpp
 *  @brief Attacks on the verbs of `uform/encode.h` that score: choosing between bytes, reranking.
 */
#include "world.hpp"

#include <algorithm>

namespace uform_fuzz {
namespace {

bool is_score_scalar(uform_scalar_t scalar) noexcept {
    return scalar == uform_scalar_default_k || scalar == uform_scalar_f32_k || scalar == uform_scalar_bf16_k ||
           scalar == uform_scalar_f16_k;
}

bool repeats_a_choice(items_t const &choices) {
    for (std::size_t i = 0; i < choices.count; ++i) {
        std::vector<unsigned char> legal(choices.data.begin() + std::ptrdiff_t(choices.offsets[i]),
                                         choices.data.begin() + std::ptrdiff_t(choices.offsets[i + 1]));
        std::sort(legal.begin(), legal.end());
        if (std::adjacent_find(legal.begin(), legal.end()) != legal.end()) return true;
    }
    return false;
}

/** Of each item's probabilities: all in [0, 1], summing to one where there are any, each rounded once. */
void check_probabilities(uform_rows_tape_t const &rows, items_t const &choices, uform_scalar_t scalar) {
    std::size_t const total = choices.offsets[choices.count] - choices.offsets[0];
    check_rows(rows, {total, 1, scalar, false}, choices.count);
    double const rounding = rows.scalar == uform_scalar_f32_k   ? 0x1p-24
                            : rows.scalar == uform_scalar_f16_k ? 0x1p-11
                                                                : 0x1p-8;
    for (std::size_t i = 0; i < choices.count; ++i) {
        require(rows.offsets[i + 1] - rows.offsets[i] == choices.length(i), "probabilities come as choices do");
        double sum = 0;
        for (std::size_t row = rows.offsets[i]; row < rows.offsets[i + 1]; ++row) {
            double const value = element(static_cast<char const *>(rows.data) + row * rows.stride, rows.scalar, 0);
            require(value >= 0 && value <= 1, "probabilities are shares");
            sum += value;
        }
        double const tolerance = double(choices.length(i) + 4) * std::max(rounding, 0x1p-20); // the sum's own floats
        if (choices.length(i)) require(std::abs(sum - 1) <= tolerance, "an item's probabilities sum to one");
    }
}

/** Rows for `uform_rerank` in a block of their exact size, described truthfully or impossibly. */
struct matrix_t {
    std::vector<unsigned char> bytes;
    uform_rows_t rows {};

    void draw(cursor_t &cursor, std::size_t count, std::size_t columns, uform_scalar_t scalar) {
        std::size_t const width = uform_scalar_bytes(scalar), stride = (columns + cursor.below(3)) * width;
        bytes.assign(count ? (count - 1) * stride + columns * width : 0, 0);
        // Of every scalar the pattern 0x3030... is a small positive number.
        std::fill(bytes.begin(), bytes.end(), static_cast<unsigned char>(0x30));
        rows = {bytes.data(), count, columns, stride, scalar};
    }
    void spoil(cursor_t &cursor, rules_t &rules) {
        rules.open_if(true);
        switch (cursor.below(6)) {
        case 0:
            rows.stride = cursor.below(rows.columns * uform_scalar_bytes(rows.scalar) + 1);
            break;
        case 1:
            rows.columns = std::max(rows.columns, cursor.size(SIZE_MAX));
            break; // past its stride
        case 2:
            rows.count = SIZE_MAX - cursor.byte(), rows.stride = std::max<std::size_t>(rows.stride, 2);
            break;
        case 3:
            rows.data = nullptr, rules.refuse_if(rows.count);
            break;
        case 4:
            rows.scalar = cursor.coin() ? cursor.enumerator(uform_scalar_u64_k) : -2;
            break;
        default: // whatever bits: NaN, infinity, -128
            for (std::size_t i = 0; i < 8 && !bytes.empty(); ++i)
                bytes[cursor.below(256) % bytes.size()] = cursor.byte();
        }
        std::size_t const width = uform_scalar_bytes(rows.scalar);
        bool const readable = is_score_scalar(rows.scalar) || rows.scalar == uform_scalar_i8_k;
        rules.refuse_if(!readable || rows.scalar == uform_scalar_default_k);
        if (!width || rows.count < 2) return;
        rules.refuse_if(rows.columns > rows.stride / width || rows.count > PTRDIFF_MAX / rows.stride);
    }
};

/** A scalar wider than the one the block was made for would let a truthful-looking view end outside it. */
void keep_truthful(matrix_t &matrix, uform_scalar_t made_for) noexcept {
    uform_rows_t &rows = matrix.rows;
    if (uform_scalar_bytes(rows.scalar) > uform_scalar_bytes(made_for)) rows.scalar = made_for;
    if (rows.count == 1 && rows.columns * uform_scalar_bytes(made_for) > matrix.bytes.size())
        rows.columns = SIZE_MAX / 2; // which no stride or memory holds
}

} // namespace

void attack_choose(cursor_t &cursor, world_t &world) {
    rules_t rules;
    items_t texts, choices;
    progress_state_t progress;
    output_t<uform_rows_tape_t> probabilities;
    output_t<uform_text_choose_stats_t> stats;
    uform_text_choose_t call {};
    call.model = cursor.hostile() ? nullptr : world.model, call.executor = world.any_executor(cursor);
    texts.draw(cursor, 4, 20), choices.draw(cursor, 4, 5);
    while (choices.count < texts.count) choices.offsets.push_back(choices.offsets.back()), ++choices.count;
    choices.offsets.resize(texts.count + 1), choices.count = texts.count;
    call.count = texts.count, rules.items = call.count, rules.refuse_if(!call.model);
    call.texts = texts.view(cursor, uform_scalar_u8_k, rules);
    call.choices = choices.view(cursor, uform_scalar_u8_k, rules);
    if (!rules.refused) rules.refuse_if(repeats_a_choice(choices));
    std::vector<std::uint32_t> groups(call.count);
    if (cursor.coin()) call.temperature_groups = groups.data();
    for (std::uint32_t &group : groups) {
        group = std::uint32_t(cursor.hostile() ? cursor.size(choice_groups_k) : cursor.below(choice_groups_k));
        rules.refuse_if(call.temperature_groups && group >= choice_groups_k);
    }
    call.probabilities = cursor.hostile() ? nullptr : &probabilities.value, call.arena = world.any_arena(cursor);
    call.outputs_scalar = cursor.enumerator(uform_scalar_f16_k), call.stats = cursor.coin() ? &stats.value : nullptr;
    rules.refuse_if(!call.probabilities || !call.arena || !is_score_scalar(call.outputs_scalar));
    call.progress = progress.handler(cursor);
    rules.open_if(true); // builds may lack it
    uform_status_t const status = send(cursor, uform_text_choose, call, rules, progress);
    probabilities.settle(status), stats.settle(status);
    require(is_refusal(status) || status == uform_status_success_k || status == uform_status_cancelled_k ||
                status == uform_status_unknown_k,
            "a choice is made, refused or stopped");
    if (status == uform_status_success_k) check_probabilities(probabilities.value, choices, call.outputs_scalar);
}

void attack_rerank(cursor_t &cursor, world_t &world) {
    constexpr uform_scalar_t scalars[] = {uform_scalar_f32_k, uform_scalar_bf16_k, uform_scalar_f16_k,
                                          uform_scalar_i8_k};
    rules_t rules;
    items_t documents;
    matrix_t query, rows;
    progress_state_t progress;
    output_t<uform_rows_t> scores;
    uform_rerank_t call {};
    call.executor = world.any_executor(cursor);
    uform_scalar_t const scalar = scalars[cursor.below(std::size(scalars))];
    std::size_t const width = 1 + cursor.below(32), query_rows = cursor.below(5);
    documents.draw(cursor, 4, 5);
    for (std::size_t &offset : documents.offsets) offset -= std::min(offset, documents.data.size() % 4); // rise still
    documents.offsets.front() = 0;
    query.draw(cursor, query_rows, width, scalar), rows.draw(cursor, documents.offsets.back(), width, scalar);
    if (cursor.hostile()) query.spoil(cursor, rules), keep_truthful(query, scalar);
    if (cursor.hostile()) rows.spoil(cursor, rules), keep_truthful(rows, scalar);
    if (cursor.hostile()) documents.offsets[cursor.below(documents.offsets.size())] = cursor.size(cursor.below(32));
    std::size_t const *const offsets = documents.offsets.data();
    call.query = query.rows, call.count = documents.count, rules.items = call.count;
    call.documents = {rows.rows.data,   rows.rows.count,  rows.rows.columns,
                      rows.rows.stride, rows.rows.scalar, cursor.hostile() ? nullptr : offsets};
    if (call.count) {
        rules.refuse_if(!call.documents.offsets || !std::is_sorted(offsets, offsets + call.count + 1));
        rules.refuse_if(offsets[call.count] > rows.rows.count);
    }
    call.scores = cursor.hostile() ? nullptr : &scores.value, call.arena = world.any_arena(cursor);
    call.outputs_scalar = cursor.enumerator(uform_scalar_f16_k);
    rules.refuse_if(!call.scores || !call.arena || !is_score_scalar(call.outputs_scalar));
    call.progress = progress.handler(cursor);
    rules.open_if(true); // builds may lack it; a document without rows is a shape_mismatch
    uform_status_t const status = send(cursor, uform_rerank, call, rules, progress);
    scores.settle(status);
    if (status == uform_status_success_k) check_rows(scores.value, {call.count, 1, call.outputs_scalar, false});
}

} // namespace uform_fuzz
