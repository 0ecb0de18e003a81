/**
 *  @file models.cpp
 *  @brief Loading by path and by bytes, descriptions, and the refusals of both.
 */
#include "checkpoints.hpp"
#include "conformance.hpp"

namespace conformance {
namespace {

constexpr auto invalid_k = uform_status_invalid_argument_k;

/** Breakages that both loads share. */
template <typename call_>
std::vector<breakage_t<call_>> shared_breakages() {
    static std::size_t const absent[] = {SIZE_MAX};
    return {{"no output", invalid_k, "model", [](call_ &c) { c.model = nullptr; }},
            {"a completion below", invalid_k, "completion", [](call_ &c) { c.completion = -1; }},
            {"a completion beyond", invalid_k, "completion", [](call_ &c) { c.completion = 2; }},
            {"quantized as f32", invalid_k, "quantization", [](call_ &c) { c.quantization = uform_scalar_f32_k; }},
            {"quantized as i8", invalid_k, "quantization", [](call_ &c) { c.quantization = uform_scalar_i8_k; }},
            {"quantized as nothing", invalid_k, "quantization", [](call_ &c) { c.quantization = -1; }},
            {"quantized beyond", invalid_k, "quantization", [](call_ &c) { c.quantization = 9; }},
            {"a class below", invalid_k, "cpu_class", [](call_ &c) { c.cpu_class = -1; }},
            {"a class beyond", invalid_k, "cpu_class", [](call_ &c) { c.cpu_class = 12; }},
            {"another processor's class", uform_status_unsupported_k, "cpu_class",
             [](call_ &c) { c.cpu_class = uform_cpu_class_wasm_simd_k; }},
            {"NULL nodes", invalid_k, "memory_domains", [](call_ &c) { c.memory_domains_count = 1; }},
            {"a node that is not there", invalid_k, "memory_domains",
             [](call_ &c) { c.memory_domains = absent, c.memory_domains_count = 1; }}};
}

TEST(models, load_refusals) {
    using call_t = uform_model_load_ram_t;
    folder_t const folder;
    std::string const missing = folder / "missing", directory = folder.path(), with_nul = nano_path() + '\0' + "x";
    std::string const behind_a_file = nano_path() + "/below", endless(5000, 'p');
    uform_model_t model = nullptr;
    call_t right {};
    right.model = &model, right.path = view(nano_path());
    auto breakages = shared_breakages<call_t>();
    std::vector<breakage_t<call_t>> const own {
        {"no path", invalid_k, "path", [](call_t &c) { c.path = {}; }},
        {"an empty path", invalid_k, "path", [](call_t &c) { c.path.length = 0; }},
        {"NULL of a length", invalid_k, "path", [](call_t &c) { c.path.data = nullptr; }},
        {"longer than memory", invalid_k, "path", [](call_t &c) { c.path.length = SIZE_MAX; }},
        {"a NUL inside", invalid_k, "path", [&](call_t &c) { c.path = view(with_nul); }},
        {"a missing file", uform_status_io_k, "", [&](call_t &c) { c.path = view(missing); }},
        {"a folder", uform_status_io_k, "", [&](call_t &c) { c.path = view(directory); }},
        {"below a file", uform_status_io_k, "", [&](call_t &c) { c.path = view(behind_a_file); }},
        {"a name too long", uform_status_io_k, "", [&](call_t &c) { c.path = view(endless); }}};
    breakages.insert(breakages.end(), own.begin(), own.end());
    expect_refusals<call_t>(uform_model_load_ram, right, breakages);
    EXPECT_EQ(model, nullptr);
}

TEST(models, load_buffer_refusals) {
    using call_t = uform_model_load_ram_buffer_t;
    std::string const bytes = checkpoint_t().bytes();
    uform_model_t model = nullptr;
    call_t right {};
    right.model = &model, right.buffer = view(bytes);
    auto breakages = shared_breakages<call_t>();
    std::vector<breakage_t<call_t>> const own {
        {"no bytes", uform_status_malformed_k, "", [](call_t &c) { c.buffer = {}; }},
        {"NULL of a length", invalid_k, "buffer", [](call_t &c) { c.buffer.data = nullptr; }},
        {"longer than memory", invalid_k, "buffer", [](call_t &c) { c.buffer.length = SIZE_MAX; }},
        {"one byte short", uform_status_malformed_k, "", [](call_t &c) { c.buffer.length -= 1; }}};
    breakages.insert(breakages.end(), own.begin(), own.end());
    expect_refusals<call_t>(uform_model_load_ram_buffer, right, breakages);
    EXPECT_EQ(model, nullptr);
}

TEST(models, failure_makes_the_output_null) {
    uform_model_t model = reinterpret_cast<uform_model_t>(0x1);
    uform_model_load_ram_t call {};
    call.model = &model;
    EXPECT_STATUS(answer(uform_model_load_ram, call), invalid_k);
    EXPECT_EQ(model, nullptr);
    model = reinterpret_cast<uform_model_t>(0x1);
    uform_model_load_ram_buffer_t bytes {};
    bytes.model = &model;
    EXPECT_STATUS(answer(uform_model_load_ram_buffer, bytes), uform_status_malformed_k);
    EXPECT_EQ(model, nullptr);
}

TEST(models, no_outcome_no_call) {
    uform_model_t model = reinterpret_cast<uform_model_t>(0x1);
    uform_model_load_ram_t by_path {};
    uform_model_load_ram_buffer_t by_bytes {};
    uform_model_load_vram_t on_gpus {};
    uform_model_load_vram_buffer_t on_gpus_by_bytes {};
    by_path.model = by_bytes.model = on_gpus.model = on_gpus_by_bytes.model = &model;
    uform_model_load_ram(&by_path), uform_model_load_ram_buffer(&by_bytes);
    uform_model_load_vram(&on_gpus), uform_model_load_vram_buffer(&on_gpus_by_bytes);
    EXPECT_EQ(model, reinterpret_cast<uform_model_t>(0x1)) << "a call did something";
    uform_model_load_ram(nullptr), uform_model_load_ram_buffer(nullptr), uform_model_describe(nullptr);
    uform_model_load_vram(nullptr), uform_model_load_vram_buffer(nullptr);
    uform_model_description_t description;
    uform_model_describe_t describe {};
    std::memset(&description, 0x5a, sizeof(description));
    uform_model_description_t const before = description;
    describe.description = &description;
    uform_model_describe(&describe);
    EXPECT_EQ(std::memcmp(&description, &before, sizeof(description)), 0);
}

template <typename call_>
void expect_no_gpu(void (*verb)(call_ *)) {
    uform_model_t model = reinterpret_cast<uform_model_t>(0x1);
    call_ call {};
    call.model = &model;
    EXPECT_STATUS(answer(verb, call), uform_status_unsupported_k);
    EXPECT_EQ(model, nullptr);
    call.completion = 2;
    EXPECT_STATUS(answer(verb, call), invalid_k);
    call.completion = 0, call.model = nullptr;
    EXPECT_STATUS(answer(verb, call), invalid_k);
}
TEST(models, gpus_are_unsupported) {
    expect_no_gpu(uform_model_load_vram);
    expect_no_gpu(uform_model_load_vram_buffer);
}

uform_model_description_t describe(uform_model_t model) {
    uform_model_description_t description;
    std::memset(&description, 0x5a, sizeof(description));
    uform_model_describe_t call {};
    call.model = model, call.description = &description;
    EXPECT_SUCCESS(answer(uform_model_describe, call));
    return description;
}

TEST(models, describe_the_shipped_one) {
    model_t model;
    load(model, nano_path());
    uform_model_description_t const it = describe(model);
    EXPECT_EQ(it.dimensions, 128u);
    EXPECT_EQ(it.context, 512u);
    EXPECT_EQ(it.depth, 4u);
    EXPECT_EQ(it.quantization, uform_scalar_bf16_k);
    EXPECT_GT(it.memory_usage, 1115650u * 2 / 2) << "a byte per parameter at the very least";
    EXPECT_EQ(it.cpu_class, uform_capabilities().cpu_class);
    EXPECT_EQ(it.gpu_class, uform_gpu_class_unknown_k);
    EXPECT_EQ(it.token_width, 0u);
    EXPECT_EQ(it.choice_temperature_groups, 0u);
    EXPECT_EQ(it.image.patch_side, 0u);
    EXPECT_EQ(it.video.patch_side, 0u);
    EXPECT_EQ(it.audio.chunk_samples, 0u);
}

TEST(models, describe_heads) {
    model_t plain, tokens, decoder, groups;
    load_bytes(plain, checkpoint_t().bytes());
    load_bytes(tokens, checkpoint_t(24).bytes());
    load_bytes(decoder, checkpoint_t(0, true).bytes());
    load_bytes(groups, checkpoint_t(8, true, 3).bytes());
    EXPECT_EQ(describe(plain).depth, 1u);
    EXPECT_EQ(describe(plain).context, 64u);
    EXPECT_EQ(describe(plain).token_width, 0u);
    EXPECT_EQ(describe(plain).choice_temperature_groups, 0u);
    EXPECT_EQ(describe(tokens).token_width, 24u);
    EXPECT_EQ(describe(decoder).choice_temperature_groups, 1u) << "without groups of its own a decoder has one";
    EXPECT_EQ(describe(groups).choice_temperature_groups, 3u);
    EXPECT_EQ(describe(groups).token_width, 8u);
}

TEST(models, describe_refusals) {
    model_t model;
    load(model, nano_path());
    uform_model_describe_t call {};
    EXPECT_STATUS(answer(uform_model_describe, call), invalid_k);
    call.model = model;
    EXPECT_STATUS(answer(uform_model_describe, call), invalid_k);
}

TEST(models, load_as_bf16_pinned_queued_or_on_an_executor) {
    executor_t executor;
    make_executor(executor);
    model_t pinned, on_executor, queued;
    uform_model_load_ram_t call {};
    call.model = pinned.out(), call.path = view(nano_path());
    call.quantization = uform_scalar_bf16_k, call.cpu_class = uform_cpu_class_serial_k;
    EXPECT_SUCCESS(answer(uform_model_load_ram, call));
    EXPECT_EQ(describe(pinned).cpu_class, uform_cpu_class_serial_k);
    call.model = on_executor.out(), call.executor = executor;
    EXPECT_SUCCESS(answer(uform_model_load_ram, call));
    outcome_t outcome;
    call.model = queued.out(), call.outcome = &outcome, call.completion = uform_completion_queued_k;
    uform_model_load_ram(&call);
    EXPECT_EQ(uform_outcome_wait(&outcome), uform_status_success_k);
    expect_final(outcome);
    EXPECT_EQ(describe(queued).dimensions, 128u);
}

TEST(models, progress_rises_and_stops_a_load) {
    reports_t reports;
    model_t model, stopped;
    uform_model_load_ram_t call {};
    call.model = model.out(), call.path = view(nano_path()), call.progress = reports.handler();
    EXPECT_SUCCESS(answer(uform_model_load_ram, call));
    EXPECT_TRUE(reports.orderly);
    EXPECT_EQ(reports.last, reports.total);
    EXPECT_GT(reports.calls, 1u);
    reports_t stops;
    stops.stop_at = 1, call.model = stopped.out(), call.progress = stops.handler();
    EXPECT_STATUS(answer(uform_model_load_ram, call), uform_status_cancelled_k);
    EXPECT_EQ(stopped, nullptr);
    EXPECT_EQ(stops.calls, 1u);
}

} // namespace
} // namespace conformance
