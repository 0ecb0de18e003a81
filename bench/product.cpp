/**
 *  @file product.cpp
 *  @brief Products with packed weights and gradients of weights, one thread, against the machine's measured peak.
 */
#include "bench.hpp"

namespace {

using namespace bench;

struct product_t {
    std::size_t rows, depth, columns;
};

// The tiers' products, from the small models' up; the last two are the requirement's.
constexpr product_t products_k[] = {
    {20, 128, 384},   {20, 512, 1536},   {256, 128, 384},  {256, 128, 128},  {256, 128, 1024}, {256, 512, 128},
    {1024, 128, 384}, {1024, 128, 1024}, {1024, 512, 128}, {512, 256, 768},  {512, 256, 256},  {512, 256, 2048},
    {512, 1024, 256}, {512, 512, 1536},  {512, 512, 4096}, {512, 2048, 512}, {4096, 512, 512}, {4096, 2048, 512}};

buffer_t<std::byte> packed_bytes(kit_table_t const &kit, buffer_t<bf16_t> const &w, packed_t &packed) {
    buffer_t<std::byte> memory;
    if (!memory.resize(kit.pack_bytes(packed.outputs, packed.inputs, packed.scalar))) std::exit(2);
    packed.data = memory.data();
    kit.pack(w.data(), 0, packed.outputs, packed);
    return memory;
}

/** The answer of few rows against serial's, to rounding of both answers. */
void verify(kit_table_t const &kit, product_t size) {
    size.rows = std::min<std::size_t>(size.rows, 13);
    lane_t lane;
    auto const a = normal_values<bf16_t>(size.rows * size.depth);
    auto const w = normal_values<bf16_t>(size.columns * size.depth);
    auto const d_y = normal_values<bf16_t>(size.rows * size.columns);
    buffer_t<bf16_t> y[2];
    buffer_t<float> d_w[2];
    kit_table_t const *const kits[] = {&kit, &serial_table()};
    for (int i = 0; i < 2; ++i) {
        packed_t packed {nullptr, size.columns, size.depth};
        auto const memory = packed_bytes(*kits[i], w, packed);
        if (!y[i].resize(d_y.size()) || !d_w[i].resize(w.size())) std::exit(2);
        kits[i]->gemm(lane, size.rows, a.data(), packed, y[i].data());
        kits[i]->gemm_backward_weight(lane, size.rows, size.columns, size.depth, d_y.data(), a.data(), d_w[i].data());
    }
    demand_equal("gemm", y[0], y[1], 0x1p-7);
    demand_equal("gemm_backward_weight", d_w[0], d_w[1], 13 * 0x1p-23);
}

void measure(kit_table_t const &kit, product_t size, report_t &report) {
    verify(kit, size);
    lane_t lane;
    auto const a = normal_values<bf16_t>(size.rows * size.depth);
    auto const w = normal_values<bf16_t>(size.columns * size.depth);
    auto y = normal_values<bf16_t>(size.rows * size.columns);
    auto wide = normal_values<float>(size.rows * size.columns);
    auto d_w = normal_values<float>(size.columns * size.depth);
    packed_t packed {nullptr, size.columns, size.depth};
    auto const memory = packed_bytes(kit, w, packed);
    double const flops = 2.0 * double(size.rows) * double(size.depth) * double(size.columns);
    std::string text;
    for (std::size_t part : {size.rows, size.depth, size.columns})
        text.append(text.empty() ? " " : " x ").append(std::to_string(part));
    report.line("gemm" + text, flops, [&] { kit.gemm(lane, size.rows, a.data(), packed, y.data()); });
    report.line("gemm_wide" + text, flops,
                [&] { kit.gemm_wide(lane, size.rows, a.data(), packed, wide.data(), wide.data()); });
    report.line("gemm_backward_weight" + text, flops, [&] {
        kit.gemm_backward_weight(lane, size.rows, size.columns, size.depth, y.data(), a.data(), d_w.data());
    });
}

} // namespace

int main(int count, char **values) {
    arguments_t const arguments(count, values);
    class_t const each = class_named(arguments.class_name);
    report_t report(each);
    for (product_t const &size : products_k) measure(each.table, size, report);
    return arguments.json && !report.save(arguments.json) ? 2 : 0;
}
