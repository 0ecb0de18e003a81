/**
 *  @file rerank.cpp
 *  @brief MaxSim beside the plain product of the same sizes, one thread, and the memory a whole call takes.
 *
 *  A product writes a table of token pairs; MaxSim keeps 64 maxima of it. Floats have no product of their own in the
 *  kit, so their share of the peak is of BFloat16's where a class has such instructions, else of the floats' own.
 */
#include <sys/mman.h>
#include <sys/resource.h>

#include "bench.hpp"

#include <uform/uform.h>

namespace {

using namespace bench;

struct scoring_t {
    std::size_t tokens, width, rows;
};
constexpr scoring_t sizes_k[] = {{64, 128, 4096}, {32, 128, 180},  {64, 64, 4096}, {64, 32, 4096},
                                 {64, 320, 4096}, {64, 127, 4096}, {17, 128, 4096}};

struct operands_t {
    buffer_t<bf16_t> query, document;
    buffer_t<float> wide_query, wide_document;

    explicit operands_t(scoring_t size)
        : query(normal_values<bf16_t>(size.tokens * size.width)),
          document(normal_values<bf16_t>(size.rows * size.width)),
          wide_query(normal_values<float>(size.tokens * size.width)),
          wide_document(normal_values<float>(size.rows * size.width)) {}
};

buffer_t<std::byte> pack_of(kit_table_t const &kit, operands_t const &from, packed_t &packed) {
    buffer_t<std::byte> memory;
    if (!memory.resize(kit.pack_bytes(packed.outputs, packed.inputs, packed.scalar) + 64)) std::exit(2);
    packed.data = memory.data();
    if (packed.scalar == uform_scalar_f32_k)
        kit.pack_wide(from.wide_query.data(), packed);
    else
        kit.pack(from.query.data(), 0, packed.outputs, packed);
    return memory;
}

/** Against serial's maxima, to the rounding of both sums. */
void verify(kit_table_t const &kit, scoring_t size, operands_t const &operands) {
    lane_t lane;
    std::size_t const rows = std::min<std::size_t>(size.rows, 501);
    for (uform_scalar_t scalar : {uform_scalar_bf16_k, uform_scalar_f32_k}) {
        buffer_t<float> largest[2];
        kit_table_t const *const kits[] = {&kit, &serial_table()};
        for (int i = 0; i < 2; ++i) {
            packed_t packed {nullptr, size.tokens, size.width, scalar};
            auto const memory = pack_of(*kits[i], operands, packed);
            if (!largest[i].resize(size.tokens)) std::exit(2);
            if (scalar == uform_scalar_bf16_k)
                kits[i]->max_products(lane, rows, size.width, operands.document.data(), packed, largest[i].data());
            else
                kits[i]->max_products_wide(lane, rows, size.width, operands.wide_document.data(), packed,
                                           largest[i].data());
        }
        demand_equal("max_products", largest[0], largest[1], double(size.width) * 0x1p-23);
    }
}

void measure_kernels(kit_table_t const &kit, scoring_t size, report_t &report) {
    operands_t const operands(size);
    verify(kit, size, operands);
    lane_t lane;
    packed_t narrow {nullptr, size.tokens, size.width}, wide {nullptr, size.tokens, size.width, uform_scalar_f32_k};
    auto const narrow_memory = pack_of(kit, operands, narrow), wide_memory = pack_of(kit, operands, wide);
    buffer_t<float> largest, sums;
    if (!largest.resize(size.tokens) || !sums.resize(size.rows * size.tokens)) std::exit(2);
    double const flops = 2.0 * double(size.rows) * double(size.width) * double(size.tokens);
    std::string text;
    for (std::size_t part : {size.tokens, size.width, size.rows})
        text.append(text.empty() ? " " : " x ").append(std::to_string(part));
    report.line("gemm_wide" + text, flops,
                [&] { kit.gemm_wide(lane, size.rows, operands.document.data(), narrow, nullptr, sums.data()); });
    report.line("max_products" + text, flops, [&] {
        kit.max_products(lane, size.rows, size.width, operands.document.data(), narrow, largest.data());
    });
    report.line("max_products_wide" + text, flops, [&] {
        kit.max_products_wide(lane, size.rows, size.width, operands.wide_document.data(), wide, largest.data());
    });
}

std::size_t resident_peak() {
    rusage usage {};
    getrusage(RUSAGE_SELF, &usage);
    return std::size_t(usage.ru_maxrss) << 10;
}

/** One query of 64 tokens against `documents` of 4,096, width 128: what the call adds to the process at its fullest. */
void measure_call(class_t const &each, uform_cpu_class_t cpu_class, uform_scalar_t scalar, std::size_t documents) {
    constexpr std::size_t tokens = 64, rows = 4096, width = 128;
    std::size_t const bytes = scalar == uform_scalar_f32_k  ? 4
                              : scalar == uform_scalar_i8_k ? 1
                                                            : 2,
                      all = documents * rows;
    std::size_t const total = (all + tokens) * width * bytes;
    void *const memory = mmap(nullptr, total, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) std::exit(2);
    auto *const values = static_cast<unsigned char *>(memory);
    // Exponents stay near one and every scalar finite: the top byte is 0x3e, 0x3f, or their negatives.
    std::uint32_t state = 1;
    for (std::size_t i = 0; i < total; ++i) {
        state = state * 1664525u + 1013904223u;
        values[i] = i % bytes == bytes - 1 && bytes > 1 ? (unsigned char)(0x3e | (state >> 31 << 7))
                                                        : (unsigned char)(state >> 24);
    }
    std::vector<std::size_t> offsets(documents + 1);
    for (std::size_t i = 0; i <= documents; ++i) offsets[i] = i * rows;
    uform_executor_t executor = nullptr;
    uform_arena_t arena = nullptr;
    uform_outcome_t outcome {};
    uform_executor_for_ram_t make {};
    make.executor = &executor, make.outcome = &outcome, make.threads = 1, make.cpu_class = cpu_class;
    uform_executor_for_ram(&make);
    uform_arena_init_t init {};
    init.arena = &arena, init.executor = executor, init.outcome = &outcome;
    uform_arena_init(&init);
    uform_rows_t scores {};
    uform_rerank_t call {};
    call.executor = executor, call.outcome = &outcome, call.arena = arena, call.scores = &scores,
    call.count = documents;
    call.documents = {values, all, width, width * bytes, scalar, offsets.data()};
    call.query = {values + all * width * bytes, tokens, width, width * bytes, scalar};
    std::size_t const before = resident_peak();
    timespec start {}, end {};
    clock_gettime(CLOCK_MONOTONIC, &start);
    double const cpu = seconds_now();
    uform_rerank(&call);
    clock_gettime(CLOCK_MONOTONIC, &end);
    if (outcome.status != uform_status_success_k) std::fprintf(stderr, "%s\n", outcome.message), std::exit(1);
    double const wall = double(end.tv_sec - start.tv_sec) + double(end.tv_nsec - start.tv_nsec) * 1e-9;
    double const spent = std::max(seconds_now() - cpu, 1e-9);
    std::printf(
        "%s rerank of %s: 64 x %zu x 4096 x 128, %.3f s, %.1f GFLOP/s of this thread, %.2f MiB beyond %.0f MiB\n",
        each.name, uform_scalar_name(scalar), documents, wall, 2.0 * double(all) * tokens * width / spent * 1e-9,
        double(resident_peak() - before) / 1048576, double(total) / 1048576);
    uform_arena_free(arena), uform_executor_free(executor);
    munmap(memory, total);
}

} // namespace

int main(int count, char **values) {
    arguments_t const arguments(count, values);
    class_t const each = class_named(arguments.class_name);
    uform_cpu_class_t cpu_class = uform_cpu_class_serial_k;
    if (arguments.class_name == "haswell") cpu_class = uform_cpu_class_intel_haswell_k;
    if (arguments.class_name == "skylake") cpu_class = uform_cpu_class_intel_skylake_k;
    if (arguments.class_name == "genoa") cpu_class = uform_cpu_class_amd_genoa_k;
    // Memory first: the process's peak only ever grows, and the largest input comes last.
    for (uform_scalar_t scalar :
         {uform_scalar_t(uform_scalar_i8_k), uform_scalar_t(uform_scalar_bf16_k), uform_scalar_t(uform_scalar_f16_k)})
        measure_call(each, cpu_class, scalar, scalar == uform_scalar_bf16_k ? 1000 : 100);
    report_t report(each);
    for (scoring_t const &size : sizes_k) measure_kernels(each.table, size, report);
    return arguments.json && !report.save(arguments.json) ? 2 : 0;
}
