/**
 *  @file serial.cpp
 *  @brief The portable class: the serial kit over float as a table every other class starts from.
 */
#include <uform/encoder/serial.hpp>

namespace uform {

namespace {

void draw_rounding(rounding_key_t const &key, std::uint64_t first_chunk, std::size_t chunks,
                   std::uint16_t *draws) noexcept {
    for (std::size_t i = 0; i < chunks; ++i) rounding_bits(key, first_chunk + i, draws + i * rounding_chunk_k);
}

void update_row(updated_row_t const &row) noexcept { serial::update_row(row); }

} // namespace

kit_table_t const &serial_table() noexcept {
    using kit = serial::kit<float>;
    static constexpr kit_table_t table = {
        .name = "serial",
        .pack_bytes = kit::pack_bytes,
        .pack = kit::pack,
        .pack_transposed = kit::pack_transposed,
        .gemm = kit::gemm,
        .gemm_wide = kit::gemm_wide,
        .gemm_backward_weight = kit::gemm_backward_weight,
        .rmsnorm = kit::rmsnorm,
        .rmsnorm_backward = kit::rmsnorm_backward,
        .rope = kit::rope,
        .attention = kit::attention,
        .attention_backward = kit::attention_backward,
        .swiglu = kit::swiglu,
        .swiglu_backward = kit::swiglu_backward,
        .silu = kit::silu,
        .silu_backward = kit::silu_backward,
        .gather_bytes = kit::gather_bytes,
        .scatter_bytes_sum = kit::scatter_bytes_sum,
        .gather_rows_sum = kit::gather_rows_sum,
        .pool = kit::pool,
        .pool_backward = kit::pool_backward,
        .normalize_rows = kit::normalize_rows,
        .pack_wide = kit::pack_wide,
        .max_products = kit::max_products,
        .max_products_wide = kit::max_products_wide,
        .winning_products = kit::winning_products,
        .choices_softmax = kit::choices_softmax,
        .draw_rounding = draw_rounding,
        .update_row = update_row,
        .cast_rows = kit::cast_rows,
        .widen_f16 = kit::widen_f16,
    };
    return table;
}

} // namespace uform
