/**
 *  @file classes.cpp
 *  @brief Reading CPUID and XCR0, the table of classes, and the refusal that says what is missing.
 *
 *  A processor's bits are half of the answer: the operating system must save the registers too (XCR0 bits 1-2 for YMM,
 *  5-7 for ZMM and masks, 17-18 for tiles), or the first interrupt corrupts them. Bits of tiles are no permission yet: on
 *  Linux a process asks for that (arch_prctl, ARCH_REQ_XCOMP_PERM), for all its threads and once; without it a tile's
 *  first use is SIGILL. Where it is refused, and on other systems, where nobody asks, tiles are as good as missing.
 *  Bit positions are those of Intel's Software Developer's Manual, volume 2, CPUID, and volume 1, chapter 13.
 */
#include <uform/utilities/classes.hpp>

#include <cstdio>

#include <uform/utilities/names.hpp>

#if defined(__x86_64__)
#include <cpuid.h>
#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif
#elif defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#include <sys/prctl.h>
#endif

namespace uform {

namespace {

constexpr features_t haswell_k = feature_avx2_k | feature_fma_k | feature_f16c_k | feature_os_avx_k;
constexpr features_t skylake_k = haswell_k | feature_avx512f_k | feature_avx512bw_k | feature_avx512dq_k |
                                 feature_avx512vl_k | feature_os_avx512_k;
constexpr features_t genoa_k = skylake_k | feature_avx512bf16_k | feature_avx512vnni_k;
constexpr features_t sapphire_k = genoa_k | feature_amx_tile_k | feature_amx_bf16_k | feature_os_amx_k;
constexpr features_t diamond_k = sapphire_k | feature_amx_fp8_k;
constexpr features_t graviton2_k = feature_neon_k | feature_dot_product_k | feature_neon_fp16_k;
constexpr features_t graviton3_k = graviton2_k | feature_sve_k | feature_sve_256_k | feature_arm_bf16_k;
constexpr features_t vera_k = graviton2_k | feature_sve_k | feature_arm_bf16_k | feature_sve2_k | feature_arm_fp8_k;

constexpr named_t feature_names_k[] = {
    {feature_avx2_k, "avx2"},
    {feature_fma_k, "fma"},
    {feature_f16c_k, "f16c"},
    {feature_avx512f_k, "avx512f"},
    {feature_avx512bw_k, "avx512bw"},
    {feature_avx512dq_k, "avx512dq"},
    {feature_avx512vl_k, "avx512vl"},
    {feature_avx512bf16_k, "avx512bf16"},
    {feature_avx512vnni_k, "avx512vnni"},
    {feature_amx_tile_k, "amx-tile"},
    {feature_amx_bf16_k, "amx-bf16"},
    {feature_amx_fp8_k, "amx-fp8"},
    {feature_os_avx_k, "the system's support for ymm registers"},
    {feature_os_avx512_k, "the system's support for zmm registers"},
    {feature_os_amx_k, "the system's support for tiles"},
    {feature_neon_k, "neon"},
    {feature_dot_product_k, "dot products"},
    {feature_neon_fp16_k, "binary16 arithmetic"},
    {feature_sve_k, "sve"},
    {feature_sve_256_k, "sve vectors of 256 bits"},
    {feature_arm_bf16_k, "bf16"},
    {feature_sve2_k, "sve2"},
    {feature_arm_fp8_k, "fp8"},
    {feature_wasm_simd_k, "simd128"},
};

constexpr std::uint64_t tile_state_k = 0x60000; // bits of XCR0

constexpr bool bit(std::uint64_t word, int position) noexcept { return (word >> position) & 1; }

/** Spells the features of `missing`, comma-separated, cut at the capacity. */
void spell_features(features_t missing, char *text, std::size_t capacity) noexcept {
    std::size_t used = 0;
    text[0] = 0;
    for (named_t const &feature : feature_names_k) {
        if (!(missing & features_t(feature.value))) continue;
        int const written = std::snprintf(text + used, capacity - used, "%s%s", used ? ", " : "", feature.name);
        if (written < 0 || std::size_t(written) >= capacity - used) return;
        used += std::size_t(written);
    }
}

class_row_t const *row_of(uform_cpu_class_t cpu_class) noexcept {
    for (class_row_t const &row : class_rows())
        if (row.cpu_class == cpu_class) return &row;
    return nullptr;
}

#if defined(__x86_64__)
/**
 *  Asks for tile data and answers what the process may use. Only for machines that have tiles: what is granted makes
 *  signal frames 8 KiB larger, and the kernel refuses where a thread's alternate stack is too small for that.
 */
std::uint64_t ask_for_tiles() noexcept {
    std::uint64_t permitted = 0;
#if defined(__linux__)
    constexpr long get_permission = 0x1022, request_permission = 0x1023, tile_data = 18; // asm/prctl.h of Linux 5.16
    if (syscall(SYS_arch_prctl, request_permission, tile_data) != 0) return 0;
    if (syscall(SYS_arch_prctl, get_permission, &permitted) != 0) return 0;
#endif
    return permitted;
}

cpuid_words_t read_cpuid() noexcept {
    cpuid_words_t words;
    unsigned eax, ebx, ecx, edx;
    if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx)) return words;
    words.leaf1_ecx = ecx;
    if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx)) {
        unsigned const last_subleaf = eax;
        words.leaf7_ebx = ebx, words.leaf7_ecx = ecx, words.leaf7_edx = edx;
        if (last_subleaf >= 1 && __get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx)) words.leaf7_1_eax = eax;
    }
    if (__get_cpuid_count(0x1e, 1, &eax, &ebx, &ecx, &edx)) words.leaf1e_1_eax = eax;
    if (bit(words.leaf1_ecx, 27)) { // OSXSAVE: without it XGETBV faults
        std::uint32_t low, high;
        __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
        words.xcr0 = std::uint64_t(high) << 32 | low;
    }
    if (bit(words.leaf7_edx, 24) && (words.xcr0 & tile_state_k) == tile_state_k) words.permitted = ask_for_tiles();
    return words;
}
#endif

features_t read_machine() noexcept {
#if defined(__x86_64__)
    return features_of(read_cpuid());
#elif defined(__aarch64__) && defined(__linux__)
    // The kernel's hwcaps (Documentation/arch/arm64/elf_hwcaps.rst): a bit is set only where the state is saved.
    unsigned long const capabilities = getauxval(AT_HWCAP), more = getauxval(AT_HWCAP2);
    features_t features = 0;
    if (bit(capabilities, 1)) features |= feature_neon_k;
    if (bit(capabilities, 10)) features |= feature_neon_fp16_k;
    if (bit(capabilities, 20)) features |= feature_dot_product_k;
    if (bit(capabilities, 22)) features |= feature_sve_k;
    // Code compiled for one length computes nonsense at another. The kernel may offer several; a process has one.
    int const length = bit(capabilities, 22) ? prctl(PR_SVE_GET_VL) : -1;
    if (length >= 0 && (length & PR_SVE_VL_LEN_MASK) == 32) features |= feature_sve_256_k;
    if (bit(more, 1)) features |= feature_sve2_k;
    if (bit(more, 14) && bit(more, 12)) features |= feature_arm_bf16_k; // of both Advanced SIMD and SVE
    return features;
#elif defined(__aarch64__)
    return feature_neon_k;
#elif defined(__wasm_simd128__)
    return feature_wasm_simd_k;
#else
    return 0;
#endif
}

} // namespace

features_t features_of(cpuid_words_t const &words) noexcept {
    features_t features = 0;
    auto const set = [&](bool present, feature_t feature) noexcept { if (present) features |= feature; };
    set(bit(words.leaf7_ebx, 5), feature_avx2_k);
    set(bit(words.leaf1_ecx, 12), feature_fma_k);
    set(bit(words.leaf1_ecx, 29), feature_f16c_k);
    set(bit(words.leaf7_ebx, 16), feature_avx512f_k);
    set(bit(words.leaf7_ebx, 17), feature_avx512dq_k);
    set(bit(words.leaf7_ebx, 30), feature_avx512bw_k);
    set(bit(words.leaf7_ebx, 31), feature_avx512vl_k);
    set(bit(words.leaf7_1_eax, 5), feature_avx512bf16_k);
    set(bit(words.leaf7_ecx, 11), feature_avx512vnni_k);
    set(bit(words.leaf7_edx, 24), feature_amx_tile_k);
    set(bit(words.leaf7_edx, 22), feature_amx_bf16_k);
    set(bit(words.leaf1e_1_eax, 4), feature_amx_fp8_k);
    bool const saves_ymm = bit(words.leaf1_ecx, 27) && bit(words.leaf1_ecx, 28) && (words.xcr0 & 0x6) == 0x6;
    set(saves_ymm, feature_os_avx_k);
    set((words.xcr0 & 0xe0) == 0xe0, feature_os_avx512_k);
    set((words.xcr0 & words.permitted & tile_state_k) == tile_state_k, feature_os_amx_k);
    return features;
}

features_t machine_features() noexcept {
    static features_t const features = read_machine();
    return features;
}

std::span<class_row_t const> class_rows() noexcept {
    static constexpr class_row_t rows[] = {
        {uform_cpu_class_intel_diamond_rapids_k, diamond_k},
        {uform_cpu_class_intel_sapphire_rapids_k, sapphire_k},
        {uform_cpu_class_amd_genoa_k, genoa_k},
        {uform_cpu_class_intel_skylake_k, skylake_k},
        {uform_cpu_class_intel_haswell_k, haswell_k},
        {uform_cpu_class_nvidia_vera_k, vera_k},
        {uform_cpu_class_aws_graviton3_k, graviton3_k},
        {uform_cpu_class_aws_graviton2_k, graviton2_k},
        {uform_cpu_class_neon_k, feature_neon_k},
        {uform_cpu_class_wasm_simd_k, feature_wasm_simd_k},
        {uform_cpu_class_serial_k, 0},
    };
    return rows;
}

bool runs_on(uform_cpu_class_t cpu_class, features_t features) noexcept {
    class_row_t const *row = row_of(cpu_class);
    return row && (row->required & ~features) == 0;
}

uform_cpu_class_t derive_class(has_kernels_t has_kernels, features_t features) noexcept {
    for (class_row_t const &row : class_rows())
        if ((row.required & ~features) == 0 && has_kernels(row.cpu_class)) return row.cpu_class;
    return uform_cpu_class_serial_k;
}

failure_t resolve_class(uform_cpu_class_t pin, has_kernels_t has_kernels, uform_cpu_class_t &resolved,
                        features_t features) noexcept {
    if (pin == uform_cpu_class_derived_k) return resolved = derive_class(has_kernels, features), failure_t {};
    class_row_t const *row = row_of(pin);
    if (!row) return fail(uform_status_invalid_argument_k, "cpu_class is not a class", "cpu_class is %d", int(pin));
    // First the build: of another architecture's class it would be no news that this machine lacks it.
    if (!has_kernels(pin))
        return fail(uform_status_unsupported_k, "cpu_class has no kernels in this build", "%s", name_of_cpu_class(pin));
    features_t const missing = row->required & ~features;
    if (missing) {
        char spelled[160];
        spell_features(missing, spelled, sizeof(spelled));
        return fail(uform_status_unsupported_k, "cpu_class needs what this machine lacks", "%s lacks %s",
                    name_of_cpu_class(pin), spelled);
    }
    resolved = pin;
    return {};
}

} // namespace uform
