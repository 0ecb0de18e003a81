/**
 *  @file rerank.cpp
 *  @brief Packing the query once, dealing documents to threads, and bringing i8 and f16 rows to what kernels read.
 *
 *  No padding and no table of token pairs: a document costs its thread one maximum per query token, and a block of
 *  staged rows where its scalar has no kernel of its own.
 */
#include <uform/encoder/rerank.hpp>

#include <cmath>

#include <uform/utilities/progress.hpp>
#include <uform/utilities/rows.hpp>

namespace uform {
namespace {

constexpr std::size_t staged_rows_k = 256;

/** A row as the kernels read it. */
void stage_row(kit_table_t const &, lane_t &, std::int8_t const *from, std::size_t count, bf16_t *to) noexcept {
    for (std::size_t i = 0; i < count; ++i) to[i] = {std::uint16_t(std::bit_cast<std::uint32_t>(float(from[i])) >> 16)};
}
void stage_row(kit_table_t const &kit, lane_t &lane, std::uint16_t const *from, std::size_t count, float *to) noexcept {
    kit.widen_f16(lane, count, from, to);
}
template <typename element_>
void stage_row(kit_table_t const &, lane_t &, element_ const *from, std::size_t count, element_ *to) noexcept {
    std::copy_n(from, count, to);
}

/** How vectors of one scalar reach the kernels. `stored_` is what the caller has, `element_` what a kernel reads. */
template <typename stored_, typename element_>
class scorer_t {
    rerank_job_t const &job_;
    kit_table_t const &kit_;
    executor_t &executor_;
    packed_t packed_;
    progress_t progress_;
    double scale_; // from a sum of largest products to a score

    static constexpr bool staged_k = !std::is_same_v<stored_, element_>;

  public:
    scorer_t(rerank_job_t const &job, kit_table_t const &kit, executor_t &executor) noexcept
        : job_(job), kit_(kit), executor_(executor), progress_(job.progress, job.count) {
        scale_ = 1.0 / double(job.query.count);
        if (std::is_same_v<stored_, std::int8_t>) scale_ /= 127.0 * 127.0;
    }

    failure_t run() noexcept {
        if (failure_t const failure = pack_query()) return failure;
        return executor_.deal(job_.count, [this](std::size_t document, lane_t &lane) {
            score(document, lane);
            if (!lane.failed()) progress_.advance(1, lane);
        });
    }

  private:
    static stored_ const *row_of(vectors_t const &vectors, std::size_t row) noexcept {
        return reinterpret_cast<stored_ const *>(vectors.data + row * vectors.stride_bytes);
    }
    /** Rows as elements, one after the other. */
    void stage(vectors_t const &rows, lane_t &lane, element_ *target) const noexcept {
        if (rows.stride_bytes == rows.width * sizeof(stored_))
            return stage_row(kit_, lane, row_of(rows, 0), rows.count * rows.width, target);
        for (std::size_t row = 0; row < rows.count; ++row, target += rows.width)
            stage_row(kit_, lane, row_of(rows, row), rows.width, target);
    }

    failure_t pack_query() noexcept {
        vectors_t const &query = job_.query;
        constexpr bool wide = std::is_same_v<element_, float>;
        packed_ = {nullptr, query.count, query.width, wide ? uform_scalar_f32_k : uform_scalar_bf16_k};
        lane_t &lane = executor_.wide_lane(); // its scratch is nobody's while documents are dealt to narrow ones
        packed_.data = lane.claim<std::byte>(kit_.pack_bytes(packed_.outputs, packed_.inputs, packed_.scalar));
        scratch_scope_t const scope(lane);
        element_ *const dense = lane.claim<element_>(query.count * query.width);
        if (lane.failed()) return lane.failure();
        stage(query, lane, dense);
        for (std::size_t i = 0; i < query.count * query.width; ++i)
            if (!std::isfinite(widened(dense[i])))
                return fail(uform_status_malformed_k, "query holds a value that is not finite", "row %zu, column %zu",
                            i / query.width, i % query.width);
        if constexpr (wide)
            kit_.pack_wide(dense, packed_);
        else
            kit_.pack(dense, 0, query.count, packed_);
        return {};
    }
    static float widened(float x) noexcept { return x; }
    static float widened(bf16_t x) noexcept { return widen(x); }

    void largest_of(lane_t &lane, std::size_t rows, std::size_t stride, bf16_t const *a, float *largest) noexcept {
        kit_.max_products(lane, rows, stride, a, packed_, largest);
    }
    void largest_of(lane_t &lane, std::size_t rows, std::size_t stride, float const *a, float *largest) noexcept {
        kit_.max_products_wide(lane, rows, stride, a, packed_, largest);
    }

    /** Fills `largest` [query tokens] over all rows of a document; a product that is not finite leaves a NaN. */
    void find_largest(vectors_t const &rows, lane_t &lane, float *largest) noexcept {
        if constexpr (!staged_k)
            return largest_of(lane, rows.count, rows.stride_bytes / sizeof(element_), row_of(rows, 0), largest);
        else {
            element_ *const staged = lane.claim<element_>(std::min(rows.count, staged_rows_k) * rows.width);
            float *const partial = lane.claim<float>(job_.query.count);
            if (lane.failed()) return;
            for (std::size_t first = 0; first < rows.count; first += staged_rows_k) {
                vectors_t const block = rows.slice(first, std::min(rows.count, first + staged_rows_k));
                stage(block, lane, staged);
                largest_of(lane, block.count, block.width, staged, first ? partial : largest);
                for (std::size_t token = 0; first && token < job_.query.count; ++token)
                    if (!(partial[token] <= largest[token]) && largest[token] == largest[token])
                        largest[token] = partial[token]; // larger, or the first NaN
            }
        }
    }

    void score(std::size_t document, lane_t &lane) noexcept {
        float *const largest = lane.claim<float>(job_.query.count);
        if (!largest) return;
        find_largest(job_.documents.slice(job_.offsets[document], job_.offsets[document + 1]), lane, largest);
        if (lane.failed()) return;
        double sum = 0;
        for (std::size_t token = 0; token < job_.query.count; ++token) sum += largest[token];
        float const mean = float(sum * scale_);
        if (land_row(job_.scalar, &mean, 1, job_.scores + document * uform_scalar_bytes(job_.scalar))) return;
        lane.fail(refuse_row("a document's score is not finite", "a document's score does not fit outputs_scalar",
                             job_.scalar, &mean, 1, document));
    }
};

} // namespace

failure_t rerank_documents(rerank_job_t const &job, kit_table_t const &kit, executor_t &executor) noexcept {
    switch (job.query.scalar) {
    case uform_scalar_bf16_k:
        return scorer_t<bf16_t, bf16_t>(job, kit, executor).run();
    case uform_scalar_i8_k:
        return scorer_t<std::int8_t, bf16_t>(job, kit, executor).run();
    case uform_scalar_f16_k:
        return scorer_t<std::uint16_t, float>(job, kit, executor).run();
    default:
        return scorer_t<float, float>(job, kit, executor).run();
    }
}

} // namespace uform
