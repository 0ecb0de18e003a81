/**
 *  @file kernels.hpp
 *  @brief All skeletons in order, and the table they fill: what a class unit includes after its vocabulary.
 */
#pragma once

#include "tile.hpp"
#include "panel.hpp"
#include "gemm.hpp"
#include "gemm_backward_weight.hpp"

inline kit_table_t table_from(kit_table_t table, char const *name) {
    table.name = name;
    table.pack_bytes = pack_bytes;
    table.pack = pack;
    table.pack_transposed = pack_transposed;
    table.gemm = gemm;
    table.gemm_wide = gemm_wide;
    table.gemm_backward_weight = gemm_backward_weight;
    return table;
}
