/**
 *  @file checkpoint_safety.cpp
 *  @brief Hostile safetensors: each is refused as `malformed`, quickly, in little memory, by path and by buffer.
 *
 *  A load is what models do: open, then look at every weight. Cases 00 to 25 are variants of one two-tensor file.
 */
#include <gtest/gtest.h>

#include <chrono>
#include <random>
#include <string>
#include <vector>

#include <sys/resource.h>

#include <uform/utilities/checkpoint.hpp>

#include "safetensors_bytes.hpp"

using namespace uform;
using namespace uform_test;

namespace {

std::string const entry_a = R"("a":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]})";
std::string const entry_b = R"("b":{"dtype":"F32","shape":[2],"data_offsets":[16,24]})";
std::string const body(24, 0);

/** The valid file with tensor `a` described otherwise. */
std::string with_a(std::string const &entry) { return safetensors("{" + entry + "," + entry_b + "}", body); }
std::string with_a(std::string const &dtype, std::string const &shape, std::string const &offsets) {
    return with_a(R"("a":{"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" + offsets + "}");
}
std::string nested(std::size_t depth) {
    return safetensors("{\"a\":" + std::string(depth, '[') + std::string(depth, ']') + "}", body);
}
std::string many_keys(std::size_t count, std::string const &value) {
    std::string header = "{";
    for (std::size_t i = 0; i < count; ++i) header += (i ? ",\"" : "\"") + std::to_string(i) + "\":" + value;
    return safetensors(header + "}", body);
}

struct case_t {
    char const *name;
    std::string file;
    char const *named = ""; // what the detail must mention
};

std::string const valid = safetensors("{" + entry_a + "," + entry_b + "}", body);

std::vector<case_t> hostile_cases() {
    std::string const truth = "{" + entry_a + "," + entry_b + "}";
    return {
        {"01_empty", ""},
        {"02_seven_bytes", valid.substr(0, 7), "7 bytes"},
        {"03_len_u64max", std::string(8, '\xff') + valid.substr(8), "18446744073709551615"},
        {"04_len_past_eof", safetensors(truth, body, valid.size() + 1), "145"},
        {"05_not_json", safetensors(std::string(64, '{'), body)},
        {"06_json_array", safetensors("[]", body)},
        {"07_bad_utf8", safetensors("{\"\xff\xfe\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[0,0]}}", body)},
        {"08_duplicate_key", safetensors("{" + entry_a + "," + entry_b + "," + entry_a + "}", body), "'a'"},
        {"09_negative_offset", with_a("F32", "[2,2]", "[-16,16]"), "'a'"},
        {"10_reversed", with_a("F32", "[2,2]", "[16,0]"), "'a': [16, 0)"},
        {"11_past_eof", with_a("F32", "[2,2]", "[24,40]"), "'a': [24, 40) of 24"},
        {"12_overlap", safetensors("{" + entry_a + R"(,"b":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", body)},
        {"13_hole_and_trailing", safetensors(truth, body + "PK\3\4polyglot"), "24 of 36"},
        {"14_shape_overflow", with_a("F32", "[4611686018427387904,8]", "[0,16]"),
         "'a': shape [4611686018427387904, 8]"},
        {"15_size_mismatch", with_a("F32", "[1000,1000]", "[0,16]"),
         "'a': F32 [1000, 1000] takes 4000000 bytes, offsets span 16"},
        {"16_unknown_dtype", with_a("F7", "[2,2]", "[0,16]"), "'a': dtype 'F7'"},
        {"17_three_offsets", with_a("F32", "[2,2]", "[0,16,16]"), "'a'"},
        {"18_float_offsets", with_a("F32", "[2,2]", "[0.5,16.5]"), "'a'"},
        {"19_nested_100k", nested(100'000)},
        {"20_data_truncated", valid.substr(0, valid.size() - 12), "'a': [0, 16) of 12"},
        {"21_missing_tensor", safetensors("{" + entry_b + "}", body), "'b': starts at byte 16"},
        {"22_metadata_not_string", safetensors("{" + entry_a + "," + entry_b + R"(,"__metadata__":{"x":1}})", body),
         "'x'"},
        {"23_offset_1e308", with_a("F32", "[2,2]", "[0,1e308]"), "'a'"},
        {"24_name_with_nul", with_a(R"("a\u0000x":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]})"), "'a?x'"},
        {"25_nan_weights", safetensors(truth, std::string(24, '\xff')), "'a': element 0"},

        {"metadata_array", safetensors("{" + entry_a + "," + entry_b + R"(,"__metadata__":[]})", body)},
        {"metadata_duplicate_key",
         safetensors("{" + entry_a + "," + entry_b + R"(,"__metadata__":{"x":"","x":""}})", body), "'x'"},
        {"metadata_twice",
         safetensors("{\"__metadata__\":{}," + entry_a + "," + entry_b + ",\"__metadata__\":{}}", body)},
        {"escaped_duplicate_key", with_a(entry_a + R"(,"\u0061":{"dtype":"F32","shape":[0],"data_offsets":[0,0]})"),
         "'a'"},
        {"entry_duplicate_key", with_a(R"("a":{"dtype":"F32","dtype":"F32","shape":[2,2],"data_offsets":[0,16]})"),
         "'dtype'"},
        {"entry_unknown_key", with_a(R"("a":{"type":"F32","dtype":"F32","shape":[2,2],"data_offsets":[0,16]})"), "'a'"},
        {"entry_lacks_shape", with_a(R"("a":{"dtype":"F32","data_offsets":[0,16]})"), "'a'"},
        {"entry_null", with_a(R"("a":null)"), "'a'"},
        {"offsets_object", with_a("F32", "[2,2]", R"({"x":0,"y":16})"), "'a'"},
        {"offsets_exact_floats", with_a("F32", "[2,2]", "[0.0,16.0]"), "'a'"},
        {"offset_beyond_u64", with_a("F32", "[2,2]", "[0,18446744073709551632]")},
        {"shape_negative", with_a("F32", "[-2,-2]", "[0,16]"), "'a'"},
        {"shape_string", with_a("F32", "\"2\"", "[0,16]"), "'a'"},
        {"shape_overflow_to_fit", with_a("F32", "[4611686018427387908,1]", "[0,16]"), "'a'"},
        {"shape_rank_9", with_a("F32", "[2,2,1,1,1,1,1,1,1]", "[0,16]"), "'a'"},
        {"dtype_f16", with_a("F16", "[2,4]", "[0,16]"), "'a': dtype 'F16'"},
        {"dtype_number", with_a(R"("a":{"dtype":32,"shape":[2,2],"data_offsets":[0,16]})"), "'a'"},
        {"lone_surrogate", with_a(R"("a\udc00":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]})")},
        {"raw_control_character", with_a("\"a\n\":{\"dtype\":\"F32\",\"shape\":[2,2],\"data_offsets\":[0,16]}")},
        {"leading_space", safetensors(" " + truth, body)},
        {"second_document", safetensors(truth + truth, body)},
        {"empty_header", safetensors("", body)},
        {"no_tensors_but_data", safetensors("{}", body)},
        {"misaligned_f32",
         safetensors(R"({"a":{"dtype":"BF16","shape":[1],"data_offsets":[0,2]},)"
                     R"("b":{"dtype":"F32","shape":[1],"data_offsets":[2,6]}})",
                     std::string(6, 0)),
         "'b'"},
        {"nested_9", nested(9)},
        {"header_of_2_mib", safetensors("{}" + std::string(2 << 20, ' '), body), "2097154"},
        {"many_short_keys", many_keys(90'000, "0")},
        {"many_tensors", many_keys(20'000, "{}"), "20000"},
        {"many_numbers",
         with_a(
             "F32",
             [] {
                 std::string shape = "[2";
                 for (int i = 0; i < 400'000; ++i) shape += ",1";
                 return shape + "]";
             }(),
             "[0,16]"),
         "'a'"},
    };
}

failure_t look_at_weights(checkpoint_t const &checkpoint) {
    for (tensor_t const &tensor : checkpoint.tensors())
        if (failure_t const failure = refuse_non_finite(tensor)) return failure;
    return {};
}

std::size_t peak_bytes() {
    rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return std::size_t(usage.ru_maxrss) << 10;
}

/** Runs `load` and checks what a refusal may cost. Sanitizers keep freed memory and take their time: there, survival
 *  alone. */
template <typename load_>
void expect_refusal(case_t const &c, load_ load) {
    std::size_t const before = peak_bytes();
    auto const start = std::chrono::steady_clock::now();
    failure_t const failure = load();
    double const seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    EXPECT_EQ(failure.status, uform_status_malformed_k) << failure.message << ": " << failure.detail;
    EXPECT_STRNE(failure.message, "");
    EXPECT_NE(std::string(failure.detail).find(c.named), std::string::npos)
        << failure.message << ": " << failure.detail;
    EXPECT_TRUE(is_utf8(failure.detail));
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    EXPECT_LT(seconds, 0.1);
    EXPECT_LT(peak_bytes() - before, c.file.size() + (16u << 20));
#else
    (void)seconds, (void)before;
#endif
}

} // namespace

TEST(checkpoint_safety, the_valid_file_loads) {
    checkpoint_t checkpoint;
    ASSERT_FALSE(checkpoint.from_bytes(bytes_of(valid)));
    EXPECT_FALSE(look_at_weights(checkpoint));
    EXPECT_EQ(checkpoint.tensors().size(), 2u);
    EXPECT_FALSE(checkpoint.from_bytes(bytes_of(safetensors("{}", ""))));
}

TEST(checkpoint_safety, hostile_files_are_malformed) {
    folder_t const folder;
    for (case_t const &c : hostile_cases()) {
        SCOPED_TRACE(c.name);
        put_file(folder / c.name, c.file);
        checkpoint_t checkpoint;
        expect_refusal(c, [&] {
            failure_t const failure = checkpoint.open(folder / c.name);
            return failure ? failure : look_at_weights(checkpoint);
        });
        // An exact copy on the heap, so that a sanitizer sees one byte too many.
        std::vector<char> const exact(c.file.begin(), c.file.end());
        expect_refusal(c, [&] {
            failure_t const failure = checkpoint.from_bytes(std::as_bytes(std::span(exact)));
            return failure ? failure : look_at_weights(checkpoint);
        });
    }
}

TEST(checkpoint_safety, a_refusal_leaves_no_tensors) {
    checkpoint_t checkpoint;
    for (case_t const &c : hostile_cases()) {
        ASSERT_FALSE(checkpoint.from_bytes(bytes_of(valid)));
        bool const refused = bool(checkpoint.from_bytes(bytes_of(c.file)));
        EXPECT_EQ(checkpoint.tensors().empty(), refused) << c.name; // the NaN alone is found later
    }
}

TEST(checkpoint_safety, every_truncation_is_survived) {
    for (std::size_t length = 0; length < valid.size(); ++length) {
        std::vector<char> const exact(valid.begin(), valid.begin() + std::ptrdiff_t(length));
        checkpoint_t checkpoint;
        EXPECT_EQ(checkpoint.from_bytes(std::as_bytes(std::span(exact))).status, uform_status_malformed_k) << length;
    }
}

TEST(checkpoint_safety, random_damage_is_survived) {
    std::mt19937 random(1);
    for (int round = 0; round < 20'000; ++round) {
        std::vector<char> damaged(valid.begin(), valid.end());
        for (unsigned flips = 1 + random() % 4; flips > 0; --flips)
            damaged[random() % damaged.size()] = random() % 2 ? char(random()) : "0123456789{}[],:\"\\u"[random() % 20];
        checkpoint_t checkpoint;
        failure_t const failure = checkpoint.from_bytes(std::as_bytes(std::span(damaged)));
        ASSERT_TRUE(!failure || failure.status == uform_status_malformed_k) << round;
        (void)look_at_weights(checkpoint);
    }
}
