/**
 *  @file kernels.hpp
 *  @brief All skeletons in order, and the table they fill: what a class unit includes after its vocabulary.
 */
#pragma once

#include "tile.hpp"
#include "panel.hpp"
#include "stream.hpp"
#include "e4m3.hpp"
#include "pack.hpp"
#include "exp.hpp"
#include "gemm.hpp"
#include "gemm_backward_weight.hpp"
#include "rows.hpp"
#include "norm.hpp"
#include "rope.hpp"
#include "attention.hpp"
#include "attention_backward.hpp"
#include "swiglu.hpp"
#include "pool.hpp"
#include "maxsim.hpp"
#include "choices.hpp"
#include "update.hpp"

inline kit_table_t table_from(kit_table_t table, char const *name) {
    table.name = name;
    table.pack_bytes = pack_bytes;
    table.pack = pack;
    table.pack_transposed = pack_transposed;
    table.gemm = gemm;
    table.gemm_wide = gemm_wide;
    table.gemm_backward_weight = gemm_backward_weight;
    table.rmsnorm = rmsnorm;
    table.rmsnorm_backward = rmsnorm_backward;
    table.rope = rope;
    table.attention = attention;
    table.attention_backward = attention_backward;
    table.swiglu = swiglu;
    table.swiglu_backward = swiglu_backward;
    table.silu = silu;
    table.silu_backward = silu_backward;
    table.gather_bytes = gather_bytes;
    table.scatter_bytes_sum = scatter_bytes_sum;
    table.gather_rows_sum = gather_rows_sum;
    table.pool = pool;
    table.pool_backward = pool_backward;
    table.normalize_rows = normalize_rows;
    table.pack_wide = pack_wide;
    table.max_products = max_products;
    table.max_products_wide = max_products_wide;
    table.winning_products = winning_products;
    table.choices_softmax = choices_softmax;
    table.draw_rounding = draw_rounding;
    table.update_row = update_row;
    table.cast_rows = cast_rows;
    table.widen_f16 = widen_f16;
    return table;
}
