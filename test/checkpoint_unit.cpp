/**
 *  @file checkpoint_unit.cpp
 *  @brief Checkpoints that are as they should be: reading, writing, replacing, and what a full disk leaves behind.
 */
#include <gtest/gtest.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <limits>

#include <sys/resource.h>

#include <uform/utilities/checkpoint.hpp>

#include "safetensors_bytes.hpp"

using namespace uform;
using namespace uform_test;

namespace {

std::string const header = R"({"__metadata__":{"format":"uform","prefix.query":"q: \"\u00e9\"\n"},)"
                           R"("a":{"dtype":"BF16","shape":[2,3],"data_offsets":[0,12]},)"
                           R"("b":{"dtype":"F32","shape":[2],"data_offsets":[12,20]},)"
                           R"("c":{"dtype":"F32","shape":[],"data_offsets":[20,24]},)"
                           R"("d":{"dtype":"F32","shape":[5,0],"data_offsets":[24,24]}})";

// BF16 1, 2, 3, 4, 5, 6; F32 0.5, -0.5; F32 7
std::string const
    data("\x80\x3f\x00\x40\x40\x40\x80\x40\xa0\x40\xc0\x40\x00\x00\x00\x3f\x00\x00\x00\xbf\x00\x00\xe0\x40", 24);

void expect_contents(checkpoint_t const &checkpoint) {
    ASSERT_EQ(checkpoint.tensors().size(), 4u);
    for (tensor_t const &tensor : checkpoint.tensors())
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(tensor.data.data()) % bytes_of(tensor.dtype), 0u) << tensor.name;
    tensor_t const *const a = checkpoint.find("a");
    ASSERT_NE(a, nullptr);
    EXPECT_EQ(a->dtype, dtype_t::bf16_k);
    ASSERT_EQ(a->rank, 2u);
    EXPECT_EQ(a->shape[0], 2u);
    EXPECT_EQ(a->shape[1], 3u);
    EXPECT_EQ(a->elements(), 6u);
    for (int i = 0; i < 6; ++i) EXPECT_EQ(widen(a->bf16()[i]), float(i + 1));
    EXPECT_EQ(checkpoint.find("b")->f32()[0], 0.5f);
    EXPECT_EQ(checkpoint.find("b")->f32()[1], -0.5f);
    EXPECT_EQ(checkpoint.find("c")->rank, 0u);
    EXPECT_EQ(checkpoint.find("c")->f32()[0], 7.0f);
    EXPECT_EQ(checkpoint.find("d")->elements(), 0u);
    EXPECT_EQ(checkpoint.find("e"), nullptr);
    EXPECT_EQ(checkpoint.metadata("format"), "uform");
    EXPECT_EQ(checkpoint.metadata("prefix.query"), "q: \"\xc3\xa9\"\n");
    EXPECT_EQ(checkpoint.metadata("absent"), std::nullopt);
}

tensor_layout_t layout_of(std::string_view name, dtype_t dtype, std::size_t rows, std::size_t columns) {
    tensor_layout_t layout;
    layout.name = name, layout.dtype = dtype, layout.rank = 2, layout.shape[0] = rows, layout.shape[1] = columns;
    return layout;
}

failure_t write_constant(std::string const &path, float value, std::size_t count) {
    std::string bytes(count * 4, 0);
    for (std::size_t i = 0; i < count; ++i) std::memcpy(&bytes[4 * i], &value, 4);
    tensor_layout_t const layout = layout_of("w", dtype_t::f32_k, 1, count);
    checkpoint_writer_t writer;
    if (failure_t const failure = writer.begin(path, {&layout, 1}, {})) return failure;
    if (failure_t const failure = writer.append(bytes_of(bytes))) return failure;
    return writer.commit();
}

} // namespace

// Header lengths of every remainder: data that would lie misaligned is moved, from a path and from a buffer.
TEST(checkpoint, reads_tensors_and_metadata_at_any_alignment) {
    folder_t const folder;
    for (std::size_t padding = 0; padding < 8; ++padding) {
        SCOPED_TRACE(padding);
        std::string const file = safetensors(header + std::string(padding, ' '), data);
        checkpoint_t checkpoint;
        failure_t failure = checkpoint.from_bytes(bytes_of(file));
        ASSERT_FALSE(failure) << failure.message << ": " << failure.detail;
        expect_contents(checkpoint);
        put_file(folder / "model", file);
        failure = checkpoint.open(folder / "model");
        ASSERT_FALSE(failure) << failure.message << ": " << failure.detail;
        expect_contents(checkpoint);
        checkpoint_t moved = std::move(checkpoint);
        expect_contents(moved);
    }
}

TEST(checkpoint, header_keys_may_come_in_any_order) {
    std::string const file = safetensors(R"({"d":{"data_offsets":[24,24],"shape":[5,0],"dtype":"F32"},)"
                                         R"("c":{"shape":[],"dtype":"F32","data_offsets":[20,24]},)"
                                         R"("a":{"dtype":"BF16","data_offsets":[0,12],"shape":[2,3]},)"
                                         R"("__metadata__":{"prefix.query":"q: \"\u00e9\"\n","format":"uform"},)"
                                         R"("b":{"dtype":"F32","shape":[2],"data_offsets":[12,20]}}  )",
                                         data);
    checkpoint_t checkpoint;
    failure_t const failure = checkpoint.from_bytes(bytes_of(file));
    ASSERT_FALSE(failure) << failure.message << ": " << failure.detail;
    expect_contents(checkpoint);
    EXPECT_EQ(checkpoint.tensors()[0].name, "a");
    EXPECT_EQ(checkpoint.tensors()[3].name, "d");
}

TEST(checkpoint, finds_the_first_value_that_is_not_finite) {
    float const infinity = std::numeric_limits<float>::infinity();
    for (std::size_t const count : {1u, 7u, 4096u, 10'000u})
        for (float const bad : {infinity, -infinity, std::nanf("")}) {
            std::string wide(count * 4, 0x11), narrow(count * 2, 0x11);
            std::size_t const place = count * 2 / 3;
            tensor_t tensor;
            tensor.dtype = dtype_t::f32_k, tensor.data = bytes_of(wide);
            EXPECT_EQ(first_non_finite(tensor), count);
            std::memcpy(&wide[4 * place], &bad, 4);
            EXPECT_EQ(first_non_finite(tensor), place);
            tensor.dtype = dtype_t::bf16_k, tensor.data = bytes_of(narrow);
            EXPECT_EQ(first_non_finite(tensor), count);
            std::uint16_t const bits = round_to_bf16(bad).bits;
            std::memcpy(&narrow[2 * place], &bits, 2);
            EXPECT_EQ(first_non_finite(tensor), place);
        }
}

TEST(checkpoint, largest_finite_values_are_finite) {
    float const largest[] = {std::numeric_limits<float>::max(), -std::numeric_limits<float>::max(), 1e-45f, -0.0f};
    tensor_t tensor;
    tensor.dtype = dtype_t::f32_k, tensor.data = std::as_bytes(std::span(largest));
    EXPECT_EQ(first_non_finite(tensor), 4u);
    bf16_t const narrow[] = {{0x7f7f}, {0xff7f}, {0x0001}, {0x8000}};
    tensor.dtype = dtype_t::bf16_k, tensor.data = std::as_bytes(std::span(narrow));
    EXPECT_EQ(first_non_finite(tensor), 4u);
}

TEST(checkpoint, writer_gives_these_bytes) {
    folder_t const folder;
    tensor_layout_t const layouts[] = {layout_of("x", dtype_t::bf16_k, 1, 2), layout_of("y\"", dtype_t::f32_k, 1, 1)};
    metadata_entry_t const metadata[] = {{"format", "uform"}, {"k", "a\n\\\xc3\xa9"}};
    checkpoint_writer_t writer;
    ASSERT_FALSE(writer.begin(folder / "model", layouts, metadata));
    ASSERT_FALSE(writer.append(bytes_of(data).first(3)));
    ASSERT_FALSE(writer.append(bytes_of(data).subspan(3, 5)));
    EXPECT_EQ(folder.count(), 1u);
    ASSERT_FALSE(writer.commit());
    std::string expected = "{\"__metadata__\":{\"format\":\"uform\",\"k\":\"a\\u000a\\\\\xc3\xa9\"},"
                           "\"x\":{\"dtype\":\"BF16\",\"shape\":[1,2],\"data_offsets\":[0,4]},"
                           "\"y\\\"\":{\"dtype\":\"F32\",\"shape\":[1,1],\"data_offsets\":[4,8]}}";
    expected.resize(192 - 8, ' '); // data starts at a multiple of 64
    EXPECT_EQ(get_file(folder / "model"), safetensors(expected, data.substr(0, 8)));
    EXPECT_EQ(folder.count(), 1u);
    checkpoint_t checkpoint;
    ASSERT_FALSE(checkpoint.open(folder / "model"));
    EXPECT_EQ(checkpoint.metadata("k"), "a\n\\\xc3\xa9");
    EXPECT_NE(checkpoint.find("y\""), nullptr);
}

TEST(checkpoint, replaces_a_file_that_is_still_mapped) {
    folder_t const folder;
    ASSERT_FALSE(write_constant(folder / "model", 1.0f, 1000));
    checkpoint_t old, fresh;
    ASSERT_FALSE(old.open(folder / "model"));
    ASSERT_FALSE(write_constant(folder / "model", 2.0f, 1000));
    ASSERT_FALSE(fresh.open(folder / "model"));
    EXPECT_EQ(old.find("w")->f32()[999], 1.0f);
    EXPECT_EQ(fresh.find("w")->f32()[999], 2.0f);
    EXPECT_EQ(folder.count(), 1u);
}

TEST(checkpoint, full_disk_leaves_the_previous_file_and_nothing_else) {
    folder_t const folder;
    ASSERT_FALSE(write_constant(folder / "model", 1.0f, 10));
    std::string const before = get_file(folder / "model");
    rlimit saved;
    ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &saved), 0);
    auto const handler = std::signal(SIGXFSZ, SIG_IGN);
    rlimit small = saved;
    small.rlim_cur = 8192;
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
    failure_t const failure = write_constant(folder / "model", 2.0f, 100'000);
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &saved), 0);
    std::signal(SIGXFSZ, handler);
    EXPECT_EQ(failure.status, uform_status_io_k);
    EXPECT_NE(std::strstr(failure.detail, std::strerror(EFBIG)), nullptr) << failure.detail;
    EXPECT_NE(std::strstr(failure.detail, "model"), nullptr) << failure.detail;
    EXPECT_EQ(get_file(folder / "model"), before);
    EXPECT_EQ(folder.count(), 1u);
}

TEST(checkpoint, abandoned_writers_leave_nothing) {
    folder_t const folder;
    tensor_layout_t const layout = layout_of("w", dtype_t::f32_k, 1, 4);
    {
        checkpoint_writer_t writer;
        ASSERT_FALSE(writer.begin(folder / "model", {&layout, 1}, {}));
        EXPECT_EQ(folder.count(), 1u);
    }
    EXPECT_EQ(folder.count(), 0u);
    checkpoint_writer_t writer;
    ASSERT_FALSE(writer.begin(folder / "model", {&layout, 1}, {}));
    EXPECT_EQ(writer.append(bytes_of(data)).status, uform_status_internal_k); // 24 bytes of 16
    EXPECT_EQ(folder.count(), 0u);
    ASSERT_FALSE(writer.begin(folder / "model", {&layout, 1}, {}));
    ASSERT_FALSE(writer.append(bytes_of(data).first(12)));
    EXPECT_EQ(writer.commit().status, uform_status_internal_k); // 12 bytes of 16
    EXPECT_EQ(folder.count(), 0u);
}

TEST(checkpoint, writer_refuses_what_the_reader_would) {
    folder_t const folder;
    checkpoint_writer_t writer;
    tensor_layout_t const odd[] = {layout_of("x", dtype_t::bf16_k, 1, 3), layout_of("y", dtype_t::f32_k, 1, 1)};
    EXPECT_EQ(writer.begin(folder / "model", odd, {}).status, uform_status_invalid_argument_k);
    metadata_entry_t const invalid[] = {{"k", "\xff"}};
    EXPECT_EQ(writer.begin(folder / "model", {}, invalid).status, uform_status_invalid_argument_k);
    tensor_layout_t const nul = layout_of(std::string_view("a\0b", 3), dtype_t::f32_k, 1, 1);
    EXPECT_EQ(writer.begin(folder / "model", {&nul, 1}, {}).status, uform_status_invalid_argument_k);
    std::string const long_value(checkpoint_t::header_limit_k, 'x');
    metadata_entry_t const large[] = {{"k", long_value}};
    EXPECT_EQ(writer.begin(folder / "model", {}, large).status, uform_status_invalid_argument_k);
    EXPECT_EQ(folder.count(), 0u);
}

TEST(checkpoint, paths_that_cannot_be_opened_are_named) {
    folder_t const folder;
    checkpoint_t checkpoint;
    failure_t failure = checkpoint.open(folder / "absent");
    EXPECT_EQ(failure.status, uform_status_io_k);
    EXPECT_NE(std::strstr(failure.detail, std::strerror(ENOENT)), nullptr) << failure.detail;
    EXPECT_NE(std::strstr(failure.detail, "absent"), nullptr) << failure.detail;
    EXPECT_EQ(checkpoint.open(folder / "").status, uform_status_io_k); // a directory
    EXPECT_EQ(checkpoint.open("/dev/zero").status, uform_status_io_k);
    EXPECT_EQ(checkpoint.open(std::string_view("a\0b", 3)).status, uform_status_invalid_argument_k);
    EXPECT_EQ(checkpoint.open("").status, uform_status_invalid_argument_k);
    checkpoint_writer_t writer;
    failure = writer.begin(folder / "absent/model", {}, {});
    EXPECT_EQ(failure.status, uform_status_io_k);
    EXPECT_NE(std::strstr(failure.detail, std::strerror(ENOENT)), nullptr) << failure.detail;
}
