/**
 *  @file batch.hpp
 *  @brief The items of one step and how they relate, laid out as `uform_trainer_step` takes them.
 *
 *  Items are the queries of a step's records first, then record by record their documents, those that answer before
 *  those that do not, then what chooses. A query attracts its answers and repels its other documents; an answer attracts
 *  its query where symmetric. Left out are pairs of one group (a set that `ignore` names wins over `attract` and
 *  `repel`, so it must not name those), where only pairs across the sides repel all pairs within a side, and what
 *  chooses. Of a record with more documents than a step shows, each turn shows the next ones.
 */
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include <uform/train.h>

#include "support/choices.hpp"
#include "support/corpus.hpp"
#include "support/media_files.hpp"
#include "support/mixture.hpp"

namespace uform::tools {

/** Edges as compressed sparse rows, built item by item. */
struct edges_t {
    std::vector<std::size_t> offsets {0};
    std::vector<std::uint32_t> ids;

    void end_item() { offsets.push_back(ids.size()); }
    uform_edges_view_t view() const noexcept { return {offsets.data(), ids.data(), nullptr}; }
};

/** An item that is a file. */
struct batch_file_t {
    std::size_t pair; // of the step's records
    std::string name;
    std::string problem; // why it could not even be read; empty: it could
};

struct batch_t {
    std::size_t count = 0; // items
    std::string bytes;
    std::vector<std::size_t> offsets {0}; // [count + 1]
    edges_t attract;
    edges_t repel;
    edges_t ignore;
    std::vector<uform_late_interaction_side_t> sides; // [count]
    std::vector<std::uint32_t> temperature_groups;    // [count]
    std::vector<uform_modality_t> modalities;         // [count]
    std::map<std::size_t, batch_file_t> files;        // by item, those that are no texts
    std::string legal;                                // bytes that items may choose
    std::vector<float> targets;                       // one for each
    std::vector<std::size_t> choice_offsets {0};      // [count + 1], of both

    void add(std::string_view prefix, std::string_view text, std::size_t limit);
    /** Adds one without choices. */
    void add(std::string_view prefix, std::string_view text, std::size_t limit, uform_late_interaction_side_t side,
             std::uint32_t temperature_group);
    /** Says of the item added last that it is a file, and of which record of the step. */
    void is_file(uform_modality_t modality, std::size_t pair, std::string name, std::string problem);
    bool has_files() const noexcept { return !files.empty(); }
    uform_tape_view_t tape() const noexcept { return {bytes.data(), offsets.data(), uform_scalar_u8_k}; }
    bool chooses() const noexcept { return !targets.empty(); }
    /** The call's views of this batch; relations where `with_pairs`. */
    void fill(uform_trainer_step_t &call, bool with_pairs) const noexcept;
};

/** What a step shows: records by their numbers, and the turn of records that have more documents than fit. */
struct drawn_t {
    std::vector<std::size_t> records;
    std::vector<std::size_t> choices;
    std::uint64_t turn = 0;
};

/** Pairs with their relations; `choices` may be empty. `media` [sources] reads the files that records name, where they
 *  name any. */
batch_t make_pairs_batch(mixture_t const &mixture, corpus_t const &corpus, choices_t const &choices,
                         drawn_t const &drawn, std::span<media_files_t const> media = {});

/** Documents alone, as the masked objective takes them. */
batch_t make_texts_batch(mixture_t const &mixture, corpus_t const &corpus, choices_t const &choices,
                         drawn_t const &drawn, std::span<media_files_t const> media = {});

} // namespace uform::tools
