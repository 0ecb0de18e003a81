/**
 *  @file batch.hpp
 *  @brief The items of one step and how they relate, laid out as `uform_trainer_step` takes them.
 *
 *  Pairs become items: the queries first, then their documents. A query attracts its document, and the other way round
 *  where symmetric. Left out are pairs of one group other than the attracting two (a set that `ignore` names wins over
 *  `attract`, so it must not name those), and, where only pairs across the sides repel, all pairs within a side.
 */
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <uform/train.h>

#include "support/corpus.hpp"
#include "support/mixture.hpp"

namespace uform::tools {

/** Edges as compressed sparse rows, built item by item. */
struct edges_t {
    std::vector<std::size_t> offsets {0};
    std::vector<std::uint32_t> ids;

    void end_item() { offsets.push_back(ids.size()); }
    uform_edges_view_t view() const noexcept { return {offsets.data(), ids.data(), nullptr}; }
};

struct batch_t {
    std::size_t count = 0; // items
    std::string bytes;
    std::vector<std::size_t> offsets {0}; // [count + 1]
    edges_t attract;
    edges_t ignore;

    void add(std::string_view prefix, std::string_view text, std::size_t limit);
    uform_tape_view_t tape() const noexcept { return {bytes.data(), offsets.data(), uform_scalar_u8_k}; }
};

/** Pairs with their relations. */
batch_t make_pairs_batch(mixture_t const &mixture, corpus_t const &corpus, std::span<std::size_t const> records);

/** Documents alone, as the masked objective takes them. */
batch_t make_texts_batch(mixture_t const &mixture, corpus_t const &corpus, std::span<std::size_t const> records);

} // namespace uform::tools
