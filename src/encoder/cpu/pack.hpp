/**
 *  @file pack.hpp
 *  @brief The slots that pack weights, as BFloat16 or as E4M3 bytes.
 */
#pragma once

std::size_t pack_bytes(std::size_t outputs, std::size_t inputs, uform_scalar_t scalar) noexcept {
    if (scalar == uform_scalar_f32_k) return round_up(outputs, panel_columns_k) * inputs * sizeof(float);
    std::size_t const bytes = scalar == uform_scalar_e4m3_k ? sizeof(e4m3_t) : sizeof(bf16_t);
    return divide_up(outputs, panel_columns_k) * panel_elements(inputs) * bytes;
}

template <typename stored_>
void pack_panels(bf16_t const *source, std::size_t first, std::size_t count, packed_t target) {
    stored_ *panels = static_cast<stored_ *>(target.data) + first / panel_columns_k * panel_elements(target.inputs);
    for (std::size_t row = 0; row < count; row += panel_columns_k) {
        std::size_t const columns = least(count - row, panel_columns_k);
        stored_ *panel = panels + row / panel_columns_k * panel_elements(target.inputs);
        if (columns < panel_columns_k) std::memset(panel, 0, panel_elements(target.inputs) * sizeof(stored_));
        pack_columns(source + row * target.inputs, target.inputs, columns, target.inputs, panel);
    }
}

void pack(bf16_t const *source, std::size_t first, std::size_t count, packed_t target) noexcept {
    if (target.is_e4m3()) return pack_panels<e4m3_t>(source, first, count, target);
    pack_panels<bf16_t>(source, first, count, target);
}

void pack_transposed(bf16_t const *source, packed_t target) noexcept {
    bf16_t *panel = static_cast<bf16_t *>(target.data);
    for (std::size_t column = 0; column < target.outputs; column += panel_columns_k) {
        pack_rows(source + column, target.outputs, target.inputs, least(target.outputs - column, panel_columns_k),
                  panel);
        panel += panel_elements(target.inputs);
    }
}
