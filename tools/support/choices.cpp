/**
 *  @file choices.cpp
 *  @brief JSON into choices, with failures that name the line.
 */
#include <algorithm>
#include <cmath>
#include <utility>

#include "support/choices.hpp"
#include "support/error.hpp"

namespace uform::tools {

namespace {

constexpr std::uint64_t groups_limit_k = 65536;   // of a checkpoint
constexpr double targets_tolerance_k = 1.0 / 256; // as in training

} // namespace

std::size_t choices_t::groups_count() const {
    return groups.empty() ? 0 : std::size_t(*std::max_element(groups.begin(), groups.end())) + 1;
}

template <typename... arguments_>
void choice_parser_t::refuse(fmt::format_string<arguments_...> format, arguments_ &&...arguments) const {
    std::string const reason = fmt::format(format, std::forward<arguments_>(arguments)...);
    if (line_) fail_at(path_, line_, "{}", reason);
    fail_at(path_, 0, "has changed while the run reads it; start again from the last save ({})", reason);
}

std::string_view choice_parser_t::text(simdjson::dom::object record, char const *field) const {
    std::string_view found;
    auto const failed = record[field].get(found);
    if (failed == simdjson::NO_SUCH_FIELD) refuse("the record lacks \"{}\"", field);
    if (failed) refuse("\"{}\" must be a string", field);
    return found;
}

std::uint32_t choice_parser_t::group(simdjson::dom::object record) const {
    simdjson::dom::element value;
    std::uint64_t found = 0;
    if (record["group"].get(value) || value.is_null()) return default_group_;
    if (value.get(found) || found >= groups_limit_k)
        refuse("\"group\" must be a whole number below {}, and is {}", groups_limit_k, simdjson::minify(value));
    return std::uint32_t(found);
}

/** The legal bytes, each once: a letter beyond ASCII would be several. */
std::string_view choice_parser_t::legal(simdjson::dom::object record) const {
    std::string_view const found = text(record, "choices");
    bool seen[128] = {};
    if (found.empty()) refuse("\"choices\" must name the legal bytes");
    for (unsigned char const byte : found)
        if (byte >= 128 || std::exchange(seen[byte], true))
            refuse("\"choices\" must be ASCII, every one of them different");
    return found;
}

void choice_parser_t::add_answer(std::string_view legal, std::string_view answer, choices_t &choices) const {
    if (answer.size() != 1 || legal.find(answer) == legal.npos) refuse("\"answer\" must be one of \"choices\"");
    for (char const byte : legal) choices.targets.push_back(byte == answer[0]);
}

void choice_parser_t::add_targets(std::string_view legal, simdjson::dom::element value, choices_t &choices) const {
    simdjson::dom::array found;
    if (value.get(found) || found.size() != legal.size())
        refuse("\"targets\" must hold one probability for each of \"choices\"");
    double sum = 0;
    for (simdjson::dom::element const each : found) {
        double target = 0;
        if (each.get(target) || !(target >= 0 && target <= 2)) refuse("\"targets\" must be probabilities");
        choices.targets.push_back(target), sum += target;
    }
    if (!(std::fabs(sum - 1) <= targets_tolerance_k)) refuse("\"targets\" sum to {}, not to one", sum);
    for (std::size_t i = choices.targets.size() - legal.size(); i < choices.targets.size(); ++i)
        choices.targets[i] /= sum;
}

bool choice_parser_t::append(std::string const &json, std::size_t line, choices_t &choices) {
    line_ = line;
    if (json.find_first_not_of(" \t\r") == json.npos) return false;
    simdjson::dom::object record;
    auto const failed = parser_.parse(json).get(record);
    if (failed == simdjson::NUMBER_ERROR) refuse("the line holds a number beyond 64 bits; correct it");
    if (failed) refuse("the line is not a JSON object in UTF-8; correct or remove it");
    std::string_view const legal = this->legal(record);
    simdjson::dom::element targets, answer; // one of which is there; what is null is not
    bool const soft = !record["targets"].get(targets) && !targets.is_null();
    bool const hard = !record["answer"].get(answer) && !answer.is_null();
    if (soft == hard) refuse("the record needs \"targets\" or \"answer\"");
    if (soft)
        add_targets(legal, targets, choices);
    else
        add_answer(legal, text(record, "answer"), choices);
    choices.texts += text(record, "text"), choices.legal += legal;
    choices.text_offsets.push_back(choices.texts.size()), choices.legal_offsets.push_back(choices.legal.size());
    choices.groups.push_back(group(record));
    return true;
}

} // namespace uform::tools
