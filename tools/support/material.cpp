/**
 *  @file material.cpp
 *  @brief Reads sources; draws from two streams, so that the choices of a step do not move its pairs.
 */
#include <algorithm>
#include <numeric>

#include "support/error.hpp"
#include "support/material.hpp"

namespace uform::tools {

namespace {

constexpr std::size_t looked_at_k = 16; // files of a source, before a run
constexpr std::uint64_t choices_stream_k = 0x43484f4943455321u; // any constant: the second stream's key

std::vector<double> weights_of(std::vector<source_t> const &sources) {
    std::vector<double> weights;
    for (source_t const &source : sources) weights.push_back(source.weight);
    return weights;
}

/** Groups that sources of pairs and choices name: both read one array of them, so they share a count. */
std::size_t count_groups(mixture_t const &mixture, choice_store_t const &choices) {
    std::size_t count = std::max<std::size_t>(choices.groups_count(), 1);
    for (source_t const &source : mixture.sources)
        count = std::max<std::size_t>(count, std::size_t(source.temperature_group) + 1);
    return count;
}

/** Of all that a step shows the part of one process, as even as can be: parts end to end are the whole, in its order. */
void keep_share(std::vector<std::size_t> &all, std::size_t rank, std::size_t ranks) {
    std::size_t const begin = all.size() * rank / ranks, end = all.size() * (rank + 1) / ranks;
    all.erase(all.begin() + std::ptrdiff_t(end), all.end());
    all.erase(all.begin(), all.begin() + std::ptrdiff_t(begin));
}

} // namespace

material_t::material_t(plan_t &plan)
    : mixture_(plan.mixture), with_pairs_(plan.with_pairs()), rank_(plan.rank), ranks_(plan.ranks),
      pairs_(mixture_, with_pairs_, plan.copies),
      choices_(mixture_.choices ? mixture_.choices->sources : std::vector<source_t>(), plan.copies) {
    sampler_.emplace(pairs_.source_offsets(), weights_of(mixture_.sources), plan.seed);
    if (mixture_.choices)
        choice_sampler_.emplace(choices_.source_offsets(), weights_of(mixture_.choices->sources),
                                plan.seed ^ choices_stream_k);
    if (plan.has_media())
        for (std::size_t i = 0; i < mixture_.sources.size(); ++i)
            media_.emplace_back(mixture_.sources[i].path), check_files(i);
    plan.positives = std::min(pairs_.most_positives(), mixture_.positives);
    plan.negatives = std::min(pairs_.most_negatives(), mixture_.negatives);
    plan.temperature_groups = count_groups(mixture_, choices_);
    plan.choices_per_item = std::max(plan.choices_per_item, choices_.most_legal());
}

/** Refuses a source none of whose first files are there: their folder is another, as no file alone would end a run. */
void material_t::check_files(std::size_t source) const {
    fields_t const &fields = mixture_.sources[source].fields;
    std::size_t const first = pairs_.source_offsets()[source];
    std::size_t const count = std::min(looked_at_k, pairs_.source_offsets()[source + 1] - first);
    corpus_t const corpus = pairs_.load(first, count);
    for (bool const of_query : {true, false}) {
        if ((of_query ? fields.query_modality : fields.document_modality) == uform_modality_text_k) continue;
        if (of_query && !with_pairs_) continue;
        std::string complaint; // of the first
        for (std::size_t i = 0; i < count; ++i) try {
                media_[source].read(of_query ? corpus.query(i) : corpus.document(i));
                complaint.clear();
                break;
            } catch (tool_error_t const &error) {
                if (complaint.empty()) complaint = error.what();
            }
        if (!complaint.empty())
            fail_at(mixture_.sources[source].path, 0, "none of its first {} files can be read; {}", count, complaint);
    }
}

drawn_t material_t::draw(std::uint64_t step) {
    drawn_t drawn;
    drawn.records.resize(mixture_.batch_pairs);
    std::uint64_t const first = step * mixture_.batch_pairs;
    sampler_->draw(first, drawn.records);
    drawn.turn = first / sampler_->epoch_draws();
    keep_share(drawn.records, rank_, ranks_);
    if (!choice_sampler_) return drawn;
    drawn.choices.resize(mixture_.choices->batch_items);
    choice_sampler_->draw(step * drawn.choices.size(), drawn.choices);
    keep_share(drawn.choices, rank_, ranks_);
    return drawn;
}

batch_t material_t::batch(drawn_t const &drawn) const {
    corpus_t const corpus = pairs_.load(drawn.records);
    choices_t const choices = choices_.load(drawn.choices);
    drawn_t loaded = drawn;
    std::iota(loaded.records.begin(), loaded.records.end(), std::size_t(0));
    std::iota(loaded.choices.begin(), loaded.choices.end(), std::size_t(0));
    return with_pairs_ ? make_pairs_batch(mixture_, corpus, choices, loaded, media_)
                       : make_texts_batch(mixture_, corpus, choices, loaded, media_);
}

source_t const &material_t::source(std::size_t index) const noexcept {
    std::size_t const pairs = mixture_.sources.size();
    return index < pairs ? mixture_.sources[index] : mixture_.choices->sources[index - pairs];
}

std::size_t material_t::records_of(std::size_t source) const noexcept {
    std::size_t const pairs = mixture_.sources.size();
    std::vector<std::size_t> const &offsets = source < pairs ? pairs_.source_offsets() : choices_.source_offsets();
    std::size_t const at = source < pairs ? source : source - pairs;
    return offsets[at + 1] - offsets[at];
}

std::uint64_t material_t::content_of(std::size_t source) const noexcept {
    std::size_t const pairs = mixture_.sources.size();
    return source < pairs ? pairs_.content(source) : choices_.content(source - pairs);
}

drawn_t material_t::part_of(drawn_t const &drawn, std::size_t source) const {
    std::size_t const pairs = mixture_.sources.size();
    drawn_t part;
    part.turn = drawn.turn;
    for (std::size_t const record : drawn.records)
        if (source_of(pairs_.source_offsets(), record) == source) part.records.push_back(record);
    for (std::size_t const choice : drawn.choices)
        if (pairs + source_of(choices_.source_offsets(), choice) == source) part.choices.push_back(choice);
    return part;
}

} // namespace uform::tools
