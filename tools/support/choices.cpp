/**
 *  @file choices.cpp
 *  @brief JSONL into choices, with failures that name the line; choices through `uform_text_choose`.
 */
#include <algorithm>
#include <cmath>
#include <limits>

#include <simdjson.h>

#include "support/choices.hpp"
#include "support/error.hpp"
#include "support/interrupt.hpp"
#include "support/record_lines.hpp"

namespace uform::tools {

namespace {

constexpr std::size_t items_per_call_k = 256;
constexpr std::uint64_t groups_limit_k = 65536;   // of a checkpoint
constexpr double targets_tolerance_k = 1.0 / 256; // as in training
constexpr float least_probability_k = std::numeric_limits<float>::min();

struct reader_t {
    std::string const &path;
    choices_t &choices;
    std::uint32_t default_group;
    std::size_t line = 0;

    std::string_view text(simdjson::dom::object record, char const *field) const {
        std::string_view found;
        auto const failed = record[field].get(found);
        if (failed == simdjson::NO_SUCH_FIELD) fail_at(path, line, "the record lacks \"{}\"", field);
        if (failed) fail_at(path, line, "\"{}\" must be a string", field);
        return found;
    }

    std::uint32_t group(simdjson::dom::object record) const {
        simdjson::dom::element value;
        std::uint64_t found = 0;
        if (record["group"].get(value)) return default_group;
        if (value.get(found) || found >= groups_limit_k)
            fail_at(path, line, "\"group\" must be a whole number below {}", groups_limit_k);
        return std::uint32_t(found);
    }

    /** The legal bytes, each once: a letter beyond ASCII would be several. */
    std::string_view legal(simdjson::dom::object record) const {
        std::string_view const found = text(record, "choices");
        bool seen[128] = {};
        if (found.empty()) fail_at(path, line, "\"choices\" must name the legal bytes");
        for (unsigned char const byte : found)
            if (byte >= 128 || std::exchange(seen[byte], true))
                fail_at(path, line, "\"choices\" must be ASCII, every one of them different");
        return found;
    }

    void add_answer(std::string_view legal, std::string_view answer) {
        if (answer.size() != 1 || legal.find(answer) == legal.npos)
            fail_at(path, line, "\"answer\" must be one of \"choices\"");
        for (char const byte : legal) choices.targets.push_back(byte == answer[0]);
    }

    void add_targets(std::string_view legal, simdjson::dom::element value) {
        simdjson::dom::array found;
        if (value.get(found) || found.size() != legal.size())
            fail_at(path, line, "\"targets\" must hold one probability for each of \"choices\"");
        double sum = 0;
        for (simdjson::dom::element const each : found) {
            double target = 0;
            if (each.get(target) || !(target >= 0 && target <= 2))
                fail_at(path, line, "\"targets\" must be probabilities");
            choices.targets.push_back(target), sum += target;
        }
        if (!(std::fabs(sum - 1) <= targets_tolerance_k)) fail_at(path, line, "\"targets\" sum to {}, not to one", sum);
        for (std::size_t i = choices.targets.size() - legal.size(); i < choices.targets.size(); ++i)
            choices.targets[i] /= sum;
    }

    void add(simdjson::dom::parser &parser, std::string const &json) {
        if (json.find_first_not_of(" \t\r") == json.npos) return;
        simdjson::dom::object record;
        if (parser.parse(json).get(record))
            fail_at(path, line, "the line is not a JSON object in UTF-8; correct or remove it");
        std::string_view const legal = this->legal(record);
        simdjson::dom::element targets;
        bool const soft = !record["targets"].get(targets);
        if (soft == !record["answer"].error()) fail_at(path, line, "the record needs \"targets\" or \"answer\"");
        if (soft)
            add_targets(legal, targets);
        else
            add_answer(legal, text(record, "answer"));
        choices.texts += text(record, "text"), choices.legal += legal;
        choices.text_offsets.push_back(choices.texts.size()), choices.legal_offsets.push_back(choices.legal.size());
        choices.groups.push_back(group(record));
    }
};

} // namespace

std::size_t choices_t::groups_count() const {
    return groups.empty() ? 0 : std::size_t(*std::max_element(groups.begin(), groups.end())) + 1;
}

void append_choices(std::string const &path, std::uint32_t group, choices_t &choices) {
    std::size_t const before = choices.size();
    column_t const columns[] = {{"text"}, {"choices"}, {"answer"}, {"targets"}, {"group"}};
    record_lines_t lines(path, columns);
    simdjson::dom::parser parser;
    reader_t reader {path, choices, group};
    for (std::string line; lines.next(line);) {
        reader.line = lines.number();
        reader.add(parser, line);
        if (reader.line % 65536 == 0) leave_if_interrupted();
    }
    if (choices.size() == before) fail_at(path, 0, "no record is in it; there is nothing to choose");
}

choices_t read_choices(std::string const &path) {
    choices_t choices;
    append_choices(path, 0, choices);
    return choices;
}

judged_choices_t judge_choices(model_t const &model, executor_t const &executor, choices_t const &choices,
                               float inverse_temperature, std::string const &path, std::size_t &truncated) {
    judged_choices_t judged;
    judged.offsets = choices.legal_offsets, judged.targets = choices.targets, judged.groups = choices.groups;
    arena_t const arena = make_arena(executor);
    for (std::size_t first = 0; first < choices.size(); first += items_per_call_k) {
        leave_if_interrupted();
        uform_outcome_t outcome = {};
        uform_rows_tape_t rows = {};
        uform_text_choose_stats_t stats = {};
        uform_text_choose_t call = {};
        call.model = model.get(), call.executor = executor.get(), call.outcome = &outcome, call.arena = arena.get();
        call.texts = {choices.texts.data(), choices.text_offsets.data() + first, uform_scalar_u8_k};
        call.choices = {choices.legal.data(), choices.legal_offsets.data() + first, uform_scalar_u8_k};
        call.count = std::min(items_per_call_k, choices.size() - first), call.probabilities = &rows;
        call.stats = &stats, call.progress = interruptible();
        uform_text_choose(&call);
        check(outcome, path);
        auto const *const probabilities = static_cast<float const *>(rows.data);
        for (std::size_t i = 0; i < rows.count; ++i)
            judged.logits.push_back(std::log(double(std::max(probabilities[i], least_probability_k))) /
                                    double(inverse_temperature));
        truncated += stats.truncated;
    }
    return judged;
}

} // namespace uform::tools
