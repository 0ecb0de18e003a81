/**
 *  @file batch.cpp
 *  @brief Cuts texts and lists edges.
 */
#include <algorithm>

#include "support/batch.hpp"
#include "support/error.hpp"

namespace uform::tools {

void batch_t::add(std::string_view prefix, std::string_view text, std::size_t limit) {
    bytes.append(prefix.substr(0, limit));
    bytes.append(text.substr(0, limit - std::min(limit, prefix.size())));
    offsets.push_back(bytes.size()), modalities.push_back(uform_modality_text_k);
    ++count;
}

void batch_t::is_file(uform_modality_t modality, std::size_t pair, std::string name, std::string problem) {
    modalities[count - 1] = modality;
    files[count - 1] = {pair, std::move(name), std::move(problem)};
}

void batch_t::add(std::string_view prefix, std::string_view text, std::size_t limit, uform_late_interaction_side_t side,
                  std::uint32_t temperature_group) {
    add(prefix, text, limit);
    sides.push_back(side), temperature_groups.push_back(temperature_group);
    choice_offsets.push_back(targets.size());
}

void batch_t::fill(uform_trainer_step_t &call, bool with_pairs) const noexcept {
    call.count = count, call.contents = tape();
    call.temperature_groups = temperature_groups.data();
    if (has_files()) call.modalities = modalities.data();
    if (with_pairs) call.relations = {attract.view(), repel.view(), ignore.view()}, call.sides = sides.data();
    if (!chooses()) return;
    call.choices = {legal.data(), choice_offsets.data(), uform_scalar_u8_k};
    call.choice_targets = {targets.data(), choice_offsets.data(), uform_scalar_f32_k};
}

namespace {

enum class part_t { query_k, positive_k, negative_k, chooser_k };
enum class edge_t { none_k, attract_k, repel_k, ignore_k };

struct member_t {
    part_t part;
    std::size_t pair; // of the batch
    std::uint64_t group;

    bool is_document() const noexcept { return part == part_t::positive_k || part == part_t::negative_k; }
};

edge_t edge_within_a_record(mixture_t const &mixture, member_t const &anchor, member_t const &other) noexcept {
    if (anchor.part == part_t::query_k) return other.part == part_t::positive_k ? edge_t::attract_k : edge_t::repel_k;
    if (other.part == part_t::query_k) return edge_t::attract_k;
    bool const repels = other.part == part_t::negative_k && mixture.ambient == ambient_t::all_k;
    return repels ? edge_t::repel_k : edge_t::ignore_k; // two answers of one query say nothing of each other
}

/** What an anchor, a query or an answer, makes of another item. */
edge_t edge_between(mixture_t const &mixture, member_t const &anchor, member_t const &other) noexcept {
    if (other.part == part_t::chooser_k) return edge_t::ignore_k;
    if (anchor.pair == other.pair) return edge_within_a_record(mixture, anchor, other);
    bool const one_side = anchor.is_document() == other.is_document();
    if (one_side && mixture.ambient == ambient_t::across_k) return edge_t::ignore_k;
    return mixture.ignore_same_group && anchor.group == other.group ? edge_t::ignore_k : edge_t::none_k;
}

void list_edges(mixture_t const &mixture, std::vector<member_t> const &members, batch_t &batch) {
    for (std::size_t item = 0; item < members.size(); ++item) {
        part_t const part = members[item].part;
        bool const anchor = part == part_t::query_k || (part == part_t::positive_k && mixture.symmetric);
        for (std::size_t other = 0; anchor && other < members.size(); ++other) {
            if (other == item) continue;
            edge_t const edge = edge_between(mixture, members[item], members[other]);
            if (edge == edge_t::attract_k) batch.attract.ids.push_back(std::uint32_t(other));
            if (edge == edge_t::repel_k) batch.repel.ids.push_back(std::uint32_t(other));
            if (edge == edge_t::ignore_k) batch.ignore.ids.push_back(std::uint32_t(other));
        }
        batch.attract.end_item(), batch.repel.end_item(), batch.ignore.end_item();
    }
}

std::uint32_t temperature_group_of(mixture_t const &mixture, corpus_t const &corpus, std::size_t record) noexcept {
    std::size_t const source = corpus.record(record).source;
    return source < mixture.sources.size() ? mixture.sources[source].temperature_group : 0;
}

/** Of `count` documents the ones that `turn` shows, `limit` at most, in a ring. */
template <typename show_> void show_documents(std::size_t count, std::size_t limit, std::uint64_t turn, show_ &&show) {
    std::size_t const shown = std::min(count, limit);
    for (std::size_t i = 0; i < shown; ++i) show((turn * shown + i) % count);
}

void add_choices(choices_term_t const &term, choices_t const &choices, std::span<std::size_t const> records,
                 batch_t &batch) {
    for (std::size_t const record : records) {
        std::size_t const text = choices.text_offsets[record], first = choices.legal_offsets[record];
        std::size_t const end = choices.legal_offsets[record + 1];
        batch.add("", std::string_view(choices.texts).substr(text, choices.text_offsets[record + 1] - text), term.bytes);
        batch.sides.push_back(uform_late_interaction_side_none_k);
        batch.temperature_groups.push_back(choices.groups[record]);
        batch.legal.append(choices.legal, first, end - first);
        for (std::size_t at = first; at < end; ++at) batch.targets.push_back(float(choices.targets[at]));
        batch.choice_offsets.push_back(batch.targets.size());
    }
}

/** Adds the texts of records, or the files that they name. */
struct builder_t {
    mixture_t const &mixture;
    corpus_t const &corpus;
    std::span<media_files_t const> media;
    batch_t &batch;

    uform_modality_t modality(std::size_t record, bool is_query) const noexcept {
        std::size_t const source = corpus.record(record).source;
        if (source >= media.size()) return uform_modality_text_k;
        fields_t const &fields = mixture.sources[source].fields;
        return is_query ? fields.query_modality : fields.document_modality;
    }

    void add(std::size_t pair, std::size_t record, std::string_view value, uform_late_interaction_side_t side,
             bool is_query) const {
        bool const is_scored = side != uform_late_interaction_side_none_k;
        std::uint32_t const group = is_scored ? temperature_group_of(mixture, corpus, record) : 0;
        uform_modality_t const found = modality(record, is_query);
        if (found != uform_modality_text_k) return add_file(pair, record, value, found, side, group);
        if (is_query)
            batch.add(mixture.query_prefix, value, mixture.query_bytes, side, group);
        else
            batch.add(mixture.document_prefix, value, mixture.document_bytes, side, group);
    }

    void add_file(std::size_t pair, std::size_t record, std::string_view value, uform_modality_t modality,
                  uform_late_interaction_side_t side, std::uint32_t group) const {
        media_files_t const &files = media[corpus.record(record).source];
        std::string const name = files.name_of(value);
        std::string bytes, problem;
        try {
            bytes = files.read(value, modality);
        } catch (tool_error_t const &error) {
            problem = without_name(error.what(), name);
        }
        batch.add("", bytes, bytes.size(), side, group);
        batch.is_file(modality, pair, name, std::move(problem));
    }

    /** So that a disk works on many files at once. */
    void announce(std::size_t record) const {
        if (modality(record, true) != uform_modality_text_k)
            media[corpus.record(record).source].announce(corpus.query(record));
        for (std::size_t i = 0; modality(record, false) != uform_modality_text_k && i < corpus.record(record).positives;
             ++i)
            media[corpus.record(record).source].announce(corpus.positive(record, i));
    }
};

} // namespace

batch_t make_pairs_batch(mixture_t const &mixture, corpus_t const &corpus, choices_t const &choices,
                         drawn_t const &drawn, std::span<media_files_t const> media) {
    batch_t batch;
    builder_t const builder {mixture, corpus, media, batch};
    std::vector<member_t> members;
    std::size_t const pairs = drawn.records.size();
    for (std::size_t const record : drawn.records) builder.announce(record);
    for (std::size_t pair = 0; pair < pairs; ++pair) {
        std::size_t const record = drawn.records[pair];
        builder.add(pair, record, corpus.query(record), uform_late_interaction_side_query_k, true);
        members.push_back({part_t::query_k, pair, corpus.group(record)});
    }
    for (std::size_t pair = 0; pair < pairs; ++pair) {
        std::size_t const record = drawn.records[pair];
        auto const add = [&](part_t part, std::string_view value) {
            builder.add(pair, record, value, uform_late_interaction_side_document_k, false);
            members.push_back({part, pair, corpus.group(record)});
        };
        show_documents(corpus.record(record).positives, mixture.positives, drawn.turn,
                       [&](std::size_t index) { add(part_t::positive_k, corpus.positive(record, index)); });
        show_documents(corpus.record(record).negatives, mixture.negatives, drawn.turn,
                       [&](std::size_t index) { add(part_t::negative_k, corpus.negative(record, index)); });
    }
    if (mixture.choices) add_choices(*mixture.choices, choices, drawn.choices, batch);
    members.resize(batch.count, {part_t::chooser_k, pairs, 0});
    list_edges(mixture, members, batch);
    return batch;
}

batch_t make_texts_batch(mixture_t const &mixture, corpus_t const &corpus, choices_t const &choices,
                         drawn_t const &drawn, std::span<media_files_t const> media) {
    batch_t batch;
    builder_t const builder {mixture, corpus, media, batch};
    for (std::size_t pair = 0; pair < drawn.records.size(); ++pair) {
        std::size_t const record = drawn.records[pair];
        show_documents(corpus.record(record).positives, 1, drawn.turn, [&](std::size_t index) {
            builder.add(pair, record, corpus.positive(record, index), uform_late_interaction_side_none_k, false);
        });
    }
    if (mixture.choices) add_choices(*mixture.choices, choices, drawn.choices, batch);
    return batch;
}

} // namespace uform::tools
