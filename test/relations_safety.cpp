/**
 *  @file relations_safety.cpp
 *  @brief Hostile relations: every one is refused with a message that names its field, and the good one is not.
 */
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include <uform/train/relations.hpp>

namespace uform {
namespace {

using offsets_t = std::vector<std::size_t>;
using ids_t = std::vector<std::uint32_t>;
using weights_t = std::vector<float>;

void refuses(relations_t const &relations, char const *message) {
    failure_t const failure = validate_relations(relations);
    EXPECT_EQ(failure.status, uform_status_invalid_argument_k) << message;
    EXPECT_STREQ(failure.message, message);
}

TEST(relations_safety, accepts) {
    offsets_t const offsets = {0, 2, 2, 3};
    ids_t const ids = {1, 2, 0};
    weights_t const weights = {1, 0, 2};
    EXPECT_FALSE(validate_relations({3, {offsets, ids, weights}, {}, {}, 1}));
    EXPECT_FALSE(validate_relations({3, {offsets, ids, {}}, {offsets, ids, {}}, {offsets, ids, {}}, 0}));
}

TEST(relations_safety, refuses_each_set) {
    offsets_t const good = {0, 2, 2, 3}, falling = {0, 2, 1, 3}, few = {0, 1, 1};
    ids_t const ids = {1, 2, 0}, unsorted = {2, 1, 0}, twice = {1, 1, 0}, outside = {1, 3, 0};
    weights_t const negative = {1, -1, 1}, infinite = {1, 1, INFINITY}, nan = {NAN, 1, 1}, two = {1, 1};
    edges_t const fine {good, ids, {}};
    auto both = [&](edges_t edges, char const *attract, char const *repel, char const *ignore) {
        refuses({3, edges, {}, {}, 1}, attract);
        refuses({3, fine, edges, {}, 1}, repel);
        if (ignore) refuses({3, fine, {}, edges, 1}, ignore);
        else EXPECT_FALSE(validate_relations({3, fine, {}, edges, 1})) << "ignore's weights are not read";
    };
    both({few, ids, {}}, "relations.attract.offsets must hold one more entry than the step has items",
         "relations.repel.offsets must hold one more entry than the step has items",
         "relations.ignore.offsets must hold one more entry than the step has items");
    both({falling, ids, {}}, "relations.attract.offsets must not decrease", "relations.repel.offsets must not decrease",
         "relations.ignore.offsets must not decrease");
    for (ids_t const *order : {&unsorted, &twice})
        both({good, *order, {}}, "relations.attract.ids must ascend within each item",
             "relations.repel.ids must ascend within each item", "relations.ignore.ids must ascend within each item");
    both({good, outside, {}}, "relations.attract.ids must lie below the step's count of items",
         "relations.repel.ids must lie below the step's count of items",
         "relations.ignore.ids must lie below the step's count of items");
    both({good, std::span(ids).first(2), {}}, "relations.attract.ids must hold as many entries as its offsets say",
         "relations.repel.ids must hold as many entries as its offsets say",
         "relations.ignore.ids must hold as many entries as its offsets say");
    both({good, ids, two}, "relations.attract.weights must hold one entry per id",
         "relations.repel.weights must hold one entry per id", nullptr);
    for (weights_t const *weights : {&negative, &infinite, &nan})
        both({good, ids, *weights}, "relations.attract.weights must be finite and not negative",
             "relations.repel.weights must be finite and not negative", nullptr);
}

TEST(relations_safety, refuses_the_step) {
    offsets_t const good = {0, 2, 2, 3}, none = {0, 0, 0, 0};
    ids_t const ids = {1, 2, 0};
    refuses({3, {}, {good, ids, {}}, {}, 1}, "relations.attract must name an edge in a contrastive step");
    refuses({3, {none, {}, {}}, {}, {}, 1}, "relations.attract must name an edge in a contrastive step");
    for (float weight : {-1.0f, float(NAN), float(INFINITY)})
        refuses({3, {good, ids, {}}, {}, {}, weight},
                "contrastive.ambient_repulsion_weight must be finite and not negative");
}

TEST(relations_safety, wrong_offsets_are_refused_before_ids_are_read) {
    // Two ids are there, the offsets say more: a caller who is wrong about those is wrong about `ids.size()` as well.
    ids_t const ids = {0, 1};
    std::uint32_t const *const none = nullptr;
    offsets_t const long_run = {0, 2, 5}, far_run = {0, 1, SIZE_MAX}, far_start = {SIZE_MAX, SIZE_MAX, SIZE_MAX};
    for (offsets_t const *offsets : {&long_run, &far_run})
        refuses({2, {*offsets, {ids.data(), offsets->back()}, {}}, {}, {}, 1},
                "relations.attract.ids must ascend within each item");
    refuses({2, {far_start, {none, 0}, {}}, {}, {}, 1}, "relations.attract.offsets end beyond any memory");
    offsets_t const good = {0, 2, 2};
    refuses({2, {good, ids, {}}, {far_start, {none, 0}, {}}, {}, 1}, "relations.repel.offsets end beyond any memory");
    refuses({2, {good, ids, {}}, {}, {far_start, {none, 0}, {}}, 1}, "relations.ignore.offsets end beyond any memory");
}

TEST(relations_safety, names_the_item) {
    offsets_t const offsets = {0, 1, 3, 3};
    ids_t const ids = {1, 2, 0};
    EXPECT_EQ(validate_relations({3, {offsets, ids, {}}, {}, {}, 1}).item, 1u);
}

} // namespace
} // namespace uform
