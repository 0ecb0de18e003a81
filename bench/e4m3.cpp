/**
 *  @file e4m3.cpp
 *  @brief Products with E4M3 weights beside the same products with BFloat16 weights, one thread.
 *
 *  Both run the same tile; what E4M3 adds is rounding left rows, once a block of them, and expanding every panel, once
 *  a block too. So few rows pay for the expansion, and few columns for the rounding.
 */
#include "bench.hpp"

namespace {

using namespace bench;

struct product_t {
    std::size_t depth, columns;
};
constexpr product_t products_k[] = {{128, 384},  {128, 128}, {128, 1024}, {512, 128},   // nano's four
                                    {512, 1536}, {512, 512}, {512, 4096}, {2048, 512}}; // tiny's four
constexpr std::size_t rows_k[] = {1, 8, 20, 64, 128, 384, 1024, 4096};

struct operands_t {
    std::size_t rows;
    buffer_t<bf16_t> a, y;
    buffer_t<std::byte> memory;
    packed_t packed;

    operands_t(kit_table_t const &kit, std::size_t rows, product_t size, uform_scalar_t scalar)
        : rows(rows), a(normal_values<bf16_t>(rows * size.depth)), y(normal_values<bf16_t>(rows * size.columns)) {
        auto const w = normal_values<bf16_t>(size.columns * size.depth, 0.05f);
        if (!memory.resize(kit.pack_bytes(size.columns, size.depth, scalar))) std::exit(2);
        packed = {memory.data(), size.columns, size.depth, scalar};
        kit.pack(w.data(), 0, size.columns, packed);
    }
};

/** The same bits as weights and rows that were rounded one by one and multiplied as BFloat16. */
void verify(kit_table_t const &kit, product_t size) {
    lane_t lane;
    operands_t bytes(kit, 13, size, uform_scalar_e4m3_k), values(kit, 13, size, uform_scalar_bf16_k);
    auto w = normal_values<bf16_t>(size.columns * size.depth);
    kit.pack(w.data(), 0, size.columns, bytes.packed);
    for (bf16_t &x : w) x = to_bf16(round_to_e4m3(widen(x)));
    kit.pack(w.data(), 0, size.columns, values.packed);
    for (std::size_t i = 0; i < values.a.size(); ++i) values.a[i] = to_bf16(round_to_e4m3(widen(bytes.a[i])));
    kit.gemm(lane, 13, bytes.a.data(), bytes.packed, bytes.y.data());
    kit.gemm(lane, 13, values.a.data(), values.packed, values.y.data());
    demand_equal("gemm e4m3", bytes.y, values.y, 0);
}

} // namespace

int main(int count, char **values) {
    arguments_t const arguments(count, values);
    class_t const each = class_named(arguments.class_name);
    report_t report(each);
    lane_t lane;
    for (product_t const &size : products_k) {
        verify(each.table, size);
        for (std::size_t const rows : rows_k) {
            double const flops = 2.0 * double(rows) * double(size.depth) * double(size.columns);
            double shares[2];
            for (int i = 0; i < 2; ++i) {
                operands_t x(each.table, rows, size, i ? uform_scalar_e4m3_k : uform_scalar_bf16_k);
                std::string text = i ? "gemm e4m3" : "gemm bf16";
                for (std::size_t part : {rows, size.depth, size.columns})
                    text.append(text.size() == 9 ? " " : " x ").append(std::to_string(part));
                shares[i] =
                    report.line(text, flops, [&] { each.table.gemm(lane, rows, x.a.data(), x.packed, x.y.data()); });
            }
            std::printf("%-52s %12.2f of bf16's time\n", "", shares[0] / shares[1]);
        }
    }
    return arguments.json && !report.save(arguments.json) ? 2 : 0;
}
