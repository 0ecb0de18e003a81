/**
 *  @file source_reader.cpp
 *  @brief One handler for each object; what is wrong is refused with its line and key.
 */
#include "support/engine.hpp"
#include "support/files.hpp"
#include "support/media_files.hpp"
#include "support/source_reader.hpp"

namespace uform::tools {

namespace {

// An epoch's order is held in memory, weight times records of it: more would not fit, or not even fit an integer.
constexpr double weight_limit_k = 1000;
constexpr std::size_t temperature_groups_limit_k = 65536; // of a checkpoint

} // namespace

std::string source_reader_t::resolved(json_value_t value) { return (base / json.path(value)).string(); }

void source_reader_t::field(json_value_t value, std::string &name, uform_modality_t &modality) {
    simdjson::ondemand::json_type type;
    if (value.type().get(type)) json.refuse("is not well-formed JSON");
    if (type != simdjson::ondemand::json_type::object) return void(name = json.string(value));
    json.object(value, [&](std::string_view key, json_value_t inner) {
        if (modality != uform_modality_text_k) json.refuse("is a second medium of one field; keep one");
        modality = uform_modality_from_name(view(key));
        if (modality == uform_modality_unknown_k || modality == uform_modality_text_k) return false;
        name = json.string(inner);
        return true;
    });
    if (modality == uform_modality_text_k) json.refuse("must name a field, or be like {\"image\": field}");
}

fields_t source_reader_t::fields(json_value_t value) {
    fields_t found;
    json.object(value, [&](std::string_view key, json_value_t name) {
        if (key == "query")
            field(name, found.query, found.query_modality);
        else if (key == "document" || key == "text")
            field(name, found.document, found.document_modality);
        else if (key == "group")
            found.group = json.string(name);
        else if (key == "negatives")
            found.negatives = json.string(name);
        else
            return false;
        return true;
    });
    return found;
}

std::size_t source_reader_t::count_up_to(json_value_t value, std::size_t at_least, std::size_t limit) {
    std::size_t const found = json.count(value, at_least);
    if (found > limit) json.refuse(fmt::format("must be at most {}", limit));
    return found;
}

source_t source_reader_t::source(json_value_t value, bool of_pairs) {
    source_t found;
    std::string format;
    json.object(value, [&](std::string_view key, json_value_t inner) {
        if (key == "path")
            found.path = resolved(inner);
        else if (key == "fields" && of_pairs)
            found.fields = fields(inner);
        else if (key == "weight")
            found.weight = json.number(inner, 1e-6, weight_limit_k);
        else if (key == "temperature_group")
            found.temperature_group = std::uint32_t(count_up_to(inner, 0, temperature_groups_limit_k - 1));
        else if (key == "format") {
            format = json.string(inner);
            if (format != "jsonl" && format != "parquet" && format != "shard")
                json.refuse("must be \"jsonl\", \"parquet\" or \"shard\"");
        } else if (key == "filter" && of_pairs)
            json.object(inner, [&](std::string_view field, json_value_t values) {
                std::string const name(field);
                found.filter[name] = json.strings(values);
                return true;
            });
        else
            return false;
        return true;
    });
    if (found.path.empty()) json.refuse("has a source without a \"path\"; name its file");
    char const *const named = is_named(found.path, ".parquet") ? "parquet"
                              : names_shards(found.path)       ? "shard"
                                                               : "jsonl"; // all readers go by the name
    if (!format.empty() && format != named)
        json.refuse("has a source whose \"format\" is not that of its name; Parquet ends in .parquet, shards in .tar");
    return found;
}

validation_t source_reader_t::validation(json_value_t value) {
    validation_t found;
    json.object(value, [&](std::string_view key, json_value_t inner) {
        if (key == "path")
            found.path = resolved(inner);
        else if (key == "fields")
            found.fields = fields(inner);
        else if (key == "evaluation_bytes")
            found.evaluation_bytes = count_up_to(inner, 1, context_limit_k);
        else
            return false;
        return true;
    });
    if (found.path.empty()) json.refuse("comes from a validation without a \"path\"; name its file");
    return found;
}

} // namespace uform::tools
