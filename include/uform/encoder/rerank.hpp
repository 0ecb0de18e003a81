/**
 *  @file rerank.hpp
 *  @brief Documents scored against one query by late interaction: MaxSim over rows that lie wherever the caller has them.
 *
 *  score = mean over query tokens of the largest inner product with any token of the document (Khattab and Zaharia,
 *  arXiv:2004.12832). A document's score depends on it and the query alone. Operands are multiplied as BFloat16 where
 *  they are exact in it (bf16, i8), else in float; sums are float, their mean is taken in double.
 */
#pragma once
#include <uform/encoder/kit.hpp>
#include <uform/utilities/executor.hpp>

namespace uform {

/** Rows somewhere in memory, checked: [count, width] of f32, bf16, f16 or i8. */
struct vectors_t {
    std::byte const *data = nullptr;
    std::size_t count = 0, width = 0;
    std::size_t stride_bytes = 0; // a multiple of the scalar's size
    uform_scalar_t scalar = uform_scalar_f32_k;

    vectors_t slice(std::size_t first, std::size_t last) const noexcept {
        vectors_t part = *this;
        part.data += first * stride_bytes, part.count = last - first;
        return part;
    }
};

struct rerank_job_t {
    vectors_t query;
    vectors_t documents;                        // all rows; of the query's width and scalar
    std::size_t const *offsets = nullptr;       // [count + 1] into them
    std::size_t count = 0;                      // documents, none of them empty
    uform_scalar_t scalar = uform_scalar_f32_k; // of scores: f32, bf16 or f16
    std::byte *scores = nullptr;                // [count]
    uform_progress_t progress {};
};

/** On success every score is written. `malformed` names the document that holds NaN or infinity. */
failure_t rerank_documents(rerank_job_t const &job, kit_table_t const &kit, executor_t &executor) noexcept;

} // namespace uform
