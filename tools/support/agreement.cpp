/**
 *  @file agreement.cpp
 *  @brief One list of everything that decides what a step shows.
 */
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "support/agreement.hpp"

namespace uform::tools {

namespace {

using json_t = nlohmann::ordered_json;

/** Of long values the first so many bytes are shown. */
constexpr std::size_t shown_k = 120;

template <typename value_>
std::string text_of(value_ const &value) {
    return fmt::format("{}", value);
}
template <typename value_>
std::string text_of(std::optional<value_> const &value) {
    return value ? text_of(*value) : "none";
}

std::string text_of(fields_t const &fields) {
    return fmt::format("query {} {}, document {} {}, group {}, negatives {}", uform_modality_name(fields.query_modality),
                       fields.query, uform_modality_name(fields.document_modality), fields.document,
                       text_of(fields.group), text_of(fields.negatives));
}

struct list_t {
    json_t fields = json_t::object();

    template <typename value_>
    void add(std::string const &name, value_ const &value) {
        fields[name] = text_of(value);
    }
    void add_source(std::string const &name, source_t const &source, std::size_t records, std::uint64_t content) {
        add(name + ".weight", source.weight), add(name + ".temperature_group", source.temperature_group);
        add(name + ".fields", source.fields);
        for (auto const &[field, allowed] : source.filter)
            add(name + ".filter." + field, fmt::format("{}", fmt::join(allowed, ", ")));
        add(name + ".records", records), add(name + ".content", fmt::format("{:016x}", content));
    }
};

void add_model(plan_t const &plan, list_t &list) {
    mixture_t const &mixture = plan.mixture;
    list.add("hidden", plan.hidden), list.add("depth", plan.depth), list.add("context", plan.context);
    list.add("objective", std::string(uform_objective_name(plan.objective))), list.add("seed", plan.seed);
    list.add("steps", plan.steps), list.add("first_step", plan.first_step);
    list.add("learning_rate", plan.learning_rate), list.add("min_learning_rate", mixture.min_learning_rate);
    list.add("warmup_steps", mixture.warmup_steps);
    list.add("matryoshka", fmt::format("{}", fmt::join(plan.matryoshka, ", ")));
    list.add("pair_loss", std::string(uform_pair_loss_form_name(mixture.pair_loss)));
    list.add("inverse_temperature", mixture.inverse_temperature), list.add("bias", mixture.bias);
    list.add("coding_rate_weight", mixture.coding_rate_weight), list.add("lipschitz_weight", mixture.lipschitz_weight);
    late_interaction_t const &late = mixture.late_interaction;
    list.add("late_interaction.weight", late.weight), list.add("late_interaction.width", late.width);
    list.add("late_interaction.query_span", late.query_span);
    list.add("late_interaction.pair_loss", std::string(uform_pair_loss_form_name(late.pair_loss)));
    list.add("late_interaction.inverse_temperature", late.inverse_temperature);
    list.add("late_interaction.bias", late.bias);
}

void add_batches(plan_t const &plan, list_t &list) {
    mixture_t const &mixture = plan.mixture;
    list.add("batch_pairs", mixture.batch_pairs);
    list.add("query_bytes", mixture.query_bytes), list.add("document_bytes", mixture.document_bytes);
    list.add("prefixes.query", mixture.query_prefix), list.add("prefixes.document", mixture.document_prefix);
    list.add("positives", mixture.positives), list.add("negatives", mixture.negatives);
    list.add("symmetric", mixture.symmetric), list.add("ignore_same_group", mixture.ignore_same_group);
    list.add("ambient", int(mixture.ambient));
    list.add("choices", mixture.choices.has_value());
    if (!mixture.choices) return;
    list.add("choices.weight", mixture.choices->weight),
        list.add("choices.brier_weight", mixture.choices->brier_weight);
    list.add("choices.batch_items", mixture.choices->batch_items), list.add("choices.bytes", mixture.choices->bytes);
}

} // namespace

json_t run_fields(plan_t const &plan, material_t const &material, pair_store_t const *held_out) {
    list_t list;
    mixture_t const &mixture = plan.mixture;
    add_model(plan, list), add_batches(plan, list);
    std::size_t const pairs = mixture.sources.size();
    list.add("sources", pairs), list.add("choices.sources", material.sources() - pairs);
    for (std::size_t i = 0; i < material.sources(); ++i)
        list.add_source(i < pairs ? fmt::format("sources[{}]", i) : fmt::format("choices.sources[{}]", i - pairs),
                        material.source(i), material.records_of(i), material.content_of(i));
    list.add("validation", held_out != nullptr);
    if (!held_out) return list.fields;
    list.add("validation.evaluation_bytes", mixture.validation->evaluation_bytes);
    list.add("validation.records", held_out->size());
    list.add("validation.content", fmt::format("{:016x}", held_out->content(0)));
    return list.fields;
}

std::string first_difference(std::vector<json_t> const &fields) {
    auto const value_in = [](json_t const &all, std::string const &name) {
        return all.contains(name) ? all[name].get<std::string>() : std::string("none");
    };
    for (std::size_t rank = 1; rank < fields.size(); ++rank)
        for (json_t const *const list : {&fields[0], &fields[rank]}) // what one of them alone has differs too
            for (auto const &[name, value] : list->items()) {
                std::string const first = value_in(fields[0], name), other = value_in(fields[rank], name);
                if (first != other)
                    return fmt::format("{}: rank 0 has {}, rank {} has {}", name, first.substr(0, shown_k), rank,
                                       other.substr(0, shown_k));
            }
    return {};
}

} // namespace uform::tools
