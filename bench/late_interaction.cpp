/**
 *  @file late_interaction.cpp
 *  @brief The late-interaction loss with its gradients, one thread, beside the products it cannot do without.
 *
 *  The first line of a size is its tiles of products alone; the second the whole term, checked against the oracle in
 *  double before. What both lack of each other is the scan for winners, the losses and the rows that gradients add.
 */
#include "bench.hpp"

#include <uform/train/late_interaction.hpp>

namespace {

using namespace bench;

struct sizes_t {
    std::size_t queries, query_tokens, documents, document_tokens, width;
};

/** Query i asks document i; vectors are unit rows. */
struct work_t {
    sizes_t size;
    std::vector<std::size_t> offsets {0};
    std::vector<std::uint32_t> ids;
    std::vector<scored_item_t> queries, documents;
    std::vector<bf16_t> vectors;

    explicit work_t(sizes_t size) : size(size) {
        std::size_t tokens = 0;
        for (std::size_t i = 0; i < size.queries; ++i, tokens += size.query_tokens) {
            queries.push_back({std::uint32_t(i), std::uint32_t(size.query_tokens), tokens});
            ids.push_back(std::uint32_t(size.queries + i)), offsets.push_back(ids.size());
        }
        for (std::size_t i = 0; i < size.documents; ++i, tokens += size.document_tokens) {
            documents.push_back({std::uint32_t(size.queries + i), std::uint32_t(size.document_tokens), tokens});
            offsets.push_back(ids.size());
        }
        auto const raw = normal_values<float>(tokens * size.width, float(1 / std::sqrt(double(size.width))));
        for (float const x : raw) vectors.push_back(round_to_bf16(x));
    }
    std::size_t cells() const { return vectors.size(); }
    double flops() const {
        return 2.0 * double(size.queries * size.query_tokens) * double(size.documents * size.document_tokens) *
               double(size.width);
    }
};

template <typename kit_, typename wide_ = typename kit_::wide_t>
double loss_of(kit_ const &kit, lane_t &lane, work_t const &work, narrow_t<wide_> const *vectors, wide_ *d_vectors) {
    wide_ const theta = wide_(2.3), bias = 0;
    wide_ d_theta = 0, d_bias = 0;
    late_interaction_t<wide_> in;
    in.relations.items = work.queries.size() + work.documents.size();
    in.relations.attract = {work.offsets, work.ids, {}};
    in.form = pair_loss_t::softmax_k, in.width = work.size.width, in.vectors = vectors;
    in.queries = work.queries, in.documents = work.documents, in.theta = &theta, in.bias = &bias;
    return late_interaction(kit, lane, in, {d_vectors, &d_theta, &d_bias});
}

/** To the rounding of sums over the width at t = 10, and of the loss itself. */
void verify(kit_table_t const &kit, sizes_t size) {
    work_t const work(size);
    lane_t lane;
    std::vector<double> wide, d_wide(work.cells());
    for (bf16_t const x : work.vectors) wide.push_back(widen(x));
    std::vector<float> d_narrow(work.cells());
    double const expected = loss_of(serial::kit<double>(), lane, work, wide.data(), d_wide.data());
    double const got = loss_of(kit, lane, work, work.vectors.data(), d_narrow.data());
    if (std::fabs(got - expected) <= double(size.width) * 10 * 0x1p-24 * (1 + expected)) return;
    std::fprintf(stderr, "late interaction is wrong: %.9g, in double %.9g\n", got, expected);
    std::exit(1);
}

void measure_size(kit_table_t const &kit, sizes_t size, report_t &report) {
    work_t const work(size);
    lane_t lane;
    std::vector<float> d_vectors(work.cells());
    buffer_t<float> tile;
    buffer_t<std::byte> packed_bytes;
    packed_t packed {nullptr, size.query_tokens, size.width};
    if (!tile.resize(64 * size.query_tokens) ||
        !packed_bytes.resize(kit.pack_bytes(size.query_tokens, size.width, packed.scalar)))
        std::exit(2);
    packed.data = packed_bytes.data();
    char name[96];
    std::snprintf(name, sizeof(name), " %zu x %zu against %zu x %zu", size.queries, size.query_tokens, size.documents,
                  size.document_tokens);
    report.line(std::string("products") + name, work.flops(), [&] {
        for (scored_item_t const &query : work.queries) {
            kit.pack(work.vectors.data() + query.first * size.width, 0, query.count, packed);
            for (scored_item_t const &document : work.documents)
                for (std::size_t row = 0; row < document.count; row += 64)
                    kit.gemm_wide(lane, std::min<std::size_t>(64, document.count - row),
                                  work.vectors.data() + (document.first + row) * size.width, packed, nullptr,
                                  tile.data());
        }
    });
    report.line(std::string("loss and gradients") + name, work.flops(),
                [&] { loss_of(kit, lane, work, work.vectors.data(), d_vectors.data()); });
}

} // namespace

int main(int count, char **values) {
    arguments_t const arguments(count, values);
    class_t const each = class_named(arguments.class_name);
    report_t report(each);
    verify(each.table, {7, 9, 6, 70, 128});
    for (sizes_t const size : {sizes_t {32, 64, 32, 256, 128}, sizes_t {32, 16, 32, 128, 128},
                               sizes_t {32, 64, 32, 64, 128}, sizes_t {128, 64, 128, 256, 128}})
        measure_size(each.table, size, report);
    return arguments.json && !report.save(arguments.json);
}
