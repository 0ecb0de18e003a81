/**
 *  @file sharing.cpp
 *  @brief A step's rows, token vectors and relations laid behind those of the other processes, in the order of ranks.
 */
#include <algorithm>
#include <bit>

#include "train/planned_sizes.hpp"
#include "train/step.hpp"

namespace uform {
namespace {

/** Words that stand before a process's relations for each of its rows: its group, its side, its tokens. */
constexpr std::size_t heads_k = 3;

failure_t out_of_memory() noexcept { return fail(uform_status_out_of_memory_k, "memory for the step is out"); }

} // namespace

/** Rows and relations of all processes, in the order of ranks; the memory for them is part of what is agreed on. */
failure_t step_t::share_rows(failure_t const &computed) noexcept {
    std::size_t const processes = world().count();
    if (processes == 1) return computed;
    std::size_t const ours = std::size_t(world().size_of(world().index(), words_size_k)),
                      all = std::size_t(world().size_of_all(words_size_k));
    std::uint32_t *const words = lane_.claim<std::uint32_t>(ours), *const all_words = lane_.claim<std::uint32_t>(all),
                         *const ids = lane_.claim<std::uint32_t>(all);
    float *const weights = lane_.claim<float>(all);
    std::size_t *const bytes = lane_.claim<std::size_t>(processes);
    for (edges_t *edges : {&world_relations_.attract, &world_relations_.repel, &world_relations_.ignore})
        edges->offsets = {lane_.claim<std::size_t>(world_kept_ + 1), world_kept_ + 1};
    std::uint32_t *const groups = lane_.claim<std::uint32_t>(world_kept_);
    failure_t const ready = computed ? computed : lane_.failed() ? out_of_memory() : failure_t {};
    if (!ready) write_relations(words);
    world_groups_ = {groups, world_kept_};
    statement_t statement = state(moment_t::shared_k);
    for (std::size_t i = 0; i < statement_t::sizes_k; ++i) statement.sizes[i] = world().size_of(world().index(), i);
    if (failure_t const failure = world().agree(statement, ready)) return failure;
    if (failure_t const failure = gather_shares(words, all_words, bytes)) return failure;
    join_relations(all_words, ids, weights);
    if (trainer_.options_.interacts()) join_sides(all_words);
    return {};
}

failure_t step_t::gather_shares(std::uint32_t const *words, std::uint32_t *all_words, std::size_t *bytes) noexcept {
    auto const gather = [&](planned_size_t share, std::size_t unit_bytes, void const *ours, void *all) noexcept {
        for (std::size_t process = 0; process < world().count(); ++process)
            bytes[process] = std::size_t(world().size_of(process, share)) * unit_bytes;
        return world().gather({static_cast<std::byte const *>(ours), bytes[world().index()]}, bytes,
                              static_cast<std::byte *>(all));
    };
    if (failure_t const failure = gather(words_size_k, sizeof(std::uint32_t), words, all_words)) return failure;
    if (failure_t const failure =
            gather(kept_size_k, geometry().hidden * sizeof(float), embeddings_, world_embeddings_))
        return failure;
    if (!trainer_.options_.interacts()) return {};
    return gather(read_size_k, trainer_.options_.model.token_width * sizeof(bf16_t), vectors_narrow_,
                  world_vectors_narrow_);
}

/**
 *  One process's part, in words of 32 bits; the weights of a set that has none are ones:
 *
 *      groups [kept] | sides [kept] | read tokens [kept] | attract | repel | ignore
 *
 *  each set of relations being: ends of the runs [kept], ids [edges], weights [edges]
 */
std::size_t step_t::write_relations(std::uint32_t *words) const noexcept {
    std::size_t used = 0;
    auto const put = [&](std::uint32_t word) { words ? void(words[used++] = word) : void(++used); };
    for (std::size_t i = 0; i < kept_.size(); ++i) put(groups_.empty() ? 0 : groups_[i]);
    for (std::size_t i = 0; i < kept_.size(); ++i) put(std::uint32_t(side_of(i)));
    for (std::size_t i = 0; i < kept_.size(); ++i) put(std::uint32_t(read_tokens_of(i)));
    for (edges_t const *edges : {&relations_.attract, &relations_.repel, &relations_.ignore}) {
        std::size_t const first = kept_.empty() ? 0 : edges->first(0),
                          last = kept_.empty() ? 0 : edges->last(kept_.size() - 1);
        for (std::size_t i = 0; i < kept_.size(); ++i) put(std::uint32_t(edges->last(i) - first));
        for (std::size_t edge = first; edge < last; ++edge) put(edges->ids[edge]);
        for (std::size_t edge = first; edge < last; ++edge) put(std::bit_cast<std::uint32_t>(edges->weight(edge)));
    }
    return used;
}

/** The parts of all processes laid behind each other; a process's ids count from where its rows start. */
void step_t::join_relations(std::uint32_t const *words, std::uint32_t *ids, float *weights) noexcept {
    edges_t *const sets[] = {&world_relations_.attract, &world_relations_.repel, &world_relations_.ignore};
    world_relations_.items = world_kept_;
    std::uint32_t *groups = const_cast<std::uint32_t *>(world_groups_.data());
    for (std::size_t set = 0; set < 3; ++set) {
        std::size_t *const offsets = const_cast<std::size_t *>(sets[set]->offsets.data()); // claimed by share_rows
        std::size_t row = 0, edges = 0;
        std::uint32_t const *part = words;
        offsets[0] = 0;
        for (std::size_t process = 0; process < world().count(); ++process) {
            std::size_t const kept = std::size_t(world().size_of(process, kept_size_k)), before = row, base = edges;
            std::uint32_t const *at = part + heads_k * kept;
            if (set == 0) std::copy_n(part, kept, groups + before);
            for (std::size_t skipped = 0; skipped < set; ++skipped) at += kept + 2 * (kept ? at[kept - 1] : 0);
            std::size_t const count = kept ? at[kept - 1] : 0;
            for (std::size_t i = 0; i < kept; ++i) offsets[++row] = base + at[i];
            for (std::size_t edge = 0; edge < count; ++edge, ++edges) {
                ids[edges] = std::uint32_t(before + at[kept + edge]);
                weights[edges] = std::bit_cast<float>(at[kept + count + edge]);
            }
            part += world().size_of(process, words_size_k);
        }
        sets[set]->ids = {ids, edges}, sets[set]->weights = {weights, edges};
        ids += edges, weights += edges;
    }
}

/** The sides of this process's items, which are all of the world's. */
void step_t::list_sides() noexcept {
    std::size_t first = 0;
    for (std::size_t kept = 0; kept < kept_.size(); first += read_tokens_of(kept++))
        list_side(kept, side_of(kept), first, read_tokens_of(kept));
}

void step_t::join_sides(std::uint32_t const *words) noexcept {
    std::size_t row = 0, first = 0;
    for (std::size_t process = 0; process < world().count(); ++process) {
        std::size_t const kept = std::size_t(world().size_of(process, kept_size_k));
        std::uint32_t const *const sides = words + kept, *const tokens = sides + kept;
        for (std::size_t i = 0; i < kept; first += tokens[i++])
            list_side(row++, uform_late_interaction_side_t(sides[i]), first, tokens[i]);
        words += world().size_of(process, words_size_k);
    }
}

/** A query scores by its first tokens past the prefix, a document is scored by all it has. */
void step_t::list_side(std::size_t row, uform_late_interaction_side_t side, std::size_t first,
                       std::size_t tokens) noexcept {
    uform_late_interaction_t const &options = trainer_.options_.late_interaction;
    auto const append = [row](std::span<scored_item_t> &list, std::size_t count, std::size_t from) noexcept {
        list = {list.data(), list.size() + 1}; // within the world's kept items, which were claimed
        list.back() = {std::uint32_t(row), std::uint32_t(count), from};
    };
    if (side & uform_late_interaction_side_query_k)
        append(queries_, query_tokens(options, tokens), first + options.prefix_tokens);
    if (side & uform_late_interaction_side_document_k) append(documents_, tokens, first);
}

} // namespace uform
