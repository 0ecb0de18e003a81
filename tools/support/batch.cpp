/**
 *  @file batch.cpp
 *  @brief Cuts texts and lists edges.
 */
#include <algorithm>

#include "support/batch.hpp"

namespace uform::tools {

void batch_t::add(std::string_view prefix, std::string_view text, std::size_t limit) {
    bytes.append(prefix.substr(0, limit));
    bytes.append(text.substr(0, limit - std::min(limit, prefix.size())));
    offsets.push_back(bytes.size());
    ++count;
}

namespace {

/** Whether the pair (item, other) takes no part; items below `pairs` are queries, the rest documents. */
struct relation_t {
    mixture_t const &mixture;
    std::vector<std::uint32_t> groups; // [pairs]

    bool ignored(std::size_t item, std::size_t other) const noexcept {
        std::size_t const pairs = groups.size();
        bool const one_side = (item < pairs) == (other < pairs);
        if (item % pairs == other % pairs) return false; // itself, or the one it attracts
        if (one_side && mixture.ambient == ambient_t::across_k) return true;
        return mixture.ignore_same_group && groups[item % pairs] == groups[other % pairs];
    }
};

} // namespace

batch_t make_pairs_batch(mixture_t const &mixture, corpus_t const &corpus, std::span<std::size_t const> records) {
    batch_t batch;
    relation_t relation {mixture, {}};
    for (std::size_t const record : records) {
        batch.add(mixture.query_prefix, corpus.query(record), mixture.query_bytes);
        relation.groups.push_back(corpus.group(record));
    }
    for (std::size_t const record : records)
        batch.add(mixture.document_prefix, corpus.document(record), mixture.document_bytes);

    std::size_t const pairs = records.size();
    for (std::size_t item = 0; item < batch.count; ++item) {
        bool const anchor = item < pairs || mixture.symmetric;
        if (anchor) batch.attract.ids.push_back(std::uint32_t((item + pairs) % batch.count));
        for (std::size_t other = 0; anchor && other < batch.count; ++other)
            if (relation.ignored(item, other)) batch.ignore.ids.push_back(std::uint32_t(other));
        batch.attract.end_item(), batch.ignore.end_item();
    }
    return batch;
}

batch_t make_texts_batch(mixture_t const &mixture, corpus_t const &corpus, std::span<std::size_t const> records) {
    batch_t batch;
    for (std::size_t const record : records)
        batch.add(mixture.document_prefix, corpus.document(record), mixture.document_bytes);
    return batch;
}

} // namespace uform::tools
