/**
 *  @file malformed.cpp
 *  @brief Files that are no checkpoints: each must be `malformed`, by bytes and by path, and leave the handle NULL.
 */
#include "checkpoints.hpp"
#include "conformance.hpp"

namespace conformance {
namespace {

void expect_loads(char const *what, std::string const &bytes, uform_status_t status) {
    SCOPED_TRACE(what);
    tell_row(what, status, "", SIZE_MAX, &bytes);
    folder_t const folder;
    std::string const path = folder / "model.safetensors";
    write_file(path, bytes);
    uform_model_t model = nullptr;
    uform_model_load_ram_buffer_t by_bytes {};
    by_bytes.model = &model, by_bytes.buffer = view(bytes);
    EXPECT_STATUS(answer(uform_model_load_ram_buffer, by_bytes), status);
    EXPECT_EQ(model != nullptr, status == uform_status_success_k);
    uform_model_free(model);
    uform_model_load_ram_t by_path {};
    by_path.model = &model, by_path.path = view(path);
    EXPECT_STATUS(answer(uform_model_load_ram, by_path), status);
    EXPECT_EQ(model != nullptr, status == uform_status_success_k);
    uform_model_free(model);
}
void expect_malformed(char const *what, std::string const &bytes) {
    expect_loads(what, bytes, uform_status_malformed_k);
}

std::string replaced(std::string text, std::string const &what, std::string const &by) {
    std::size_t const at = text.find(what);
    EXPECT_NE(at, text.npos) << what;
    return at == text.npos ? text : text.replace(at, what.size(), by);
}

TEST(malformed, the_right_one_loads) { expect_loads("right", checkpoint_t().bytes(), uform_status_success_k); }

TEST(malformed, containers) {
    checkpoint_t const right;
    std::string const bytes = right.bytes(), header = right.header(), data = right.drawn();
    expect_malformed("nothing", "");
    expect_malformed("seven bytes", bytes.substr(0, 7));
    expect_malformed("a length alone", bytes.substr(0, 8));
    expect_malformed("an endless length", safetensors(header, data, UINT64_MAX - 1));
    expect_malformed("a length past the end", safetensors(header, "", header.size() + 1));
    expect_malformed("a header cut short", safetensors(header, data, header.size() - 1));
    expect_malformed("a header too large", safetensors(header + std::string(1 << 20, ' '), data));
    expect_malformed("no header", safetensors("", data));
    expect_malformed("a truncated file", bytes.substr(0, bytes.size() - 2));
    expect_malformed("half a file", bytes.substr(0, bytes.size() / 2));
    expect_malformed("a byte too many", bytes + '\0');
    expect_loads("a padded header", safetensors(header + "      ", data), uform_status_success_k);
}

TEST(malformed, json) {
    checkpoint_t const right;
    std::string const header = right.header(), data = right.drawn();
    auto const with = [&](char const *what, std::string const &changed) {
        expect_malformed(what, safetensors(changed, data));
    };
    with("no JSON", "hello");
    with("an array", "[" + header + "]");
    with("a space before", " " + header);
    with("a second document", header + "{}");
    with("a comma too many", replaced(header, "}}", "},}"));
    with("a key twice", replaced(header, "{\"__metadata__\"", "{\"norm\":{},\"norm\":{},\"__metadata__\""));
    with("a metadata key twice", replaced(header, "\"depth\"", "\"hidden\":\"128\",\"depth\""));
    with("bad UTF-8", replaced(header, "\"depth\"", "\"\xff\":\"x\",\"depth\""));
    with("an overlong NUL", replaced(header, "\"depth\"", "\"\xc0\x80\":\"x\",\"depth\""));
    with("a raw control byte", replaced(header, "\"depth\"", "\"\x01\":\"x\",\"depth\""));
    with("a lone surrogate", replaced(header, "\"depth\"", "\"\\ud800\":\"x\",\"depth\""));
    with("an unknown escape", replaced(header, "\"depth\"", "\"\\q\":\"x\",\"depth\""));
    with("deep nesting", std::string(100000, '[') + std::string(100000, ']'));
    with("deep nesting inside", replaced(header, "[128]", std::string(20, '[') + std::string(20, ']')));
    expect_loads("escapes", safetensors(replaced(header, "\"depth\"", "\"\\u0064epth\""), data),
                 uform_status_success_k);
    expect_loads("other keys", safetensors(replaced(header, "\"depth\"", "\"\\ud83d\\ude00\":\"\\n\",\"depth\""), data),
                 uform_status_success_k);
}

TEST(malformed, entries) {
    checkpoint_t const right;
    std::string const header = right.header(), data = right.drawn(), offsets = "\"data_offsets\":[0,66048]";
    auto const with = [&](char const *what, std::string const &changed) {
        expect_malformed(what, safetensors(changed, data));
    };
    with("metadata that is no object", replaced(header, "\"__metadata__\":{", "\"__metadata__\":[],\"x\":{"));
    with("metadata that is no string", replaced(header, "\"hidden\":\"128\"", "\"hidden\":128"));
    with("an entry that is no object",
         replaced(header, "{\"dtype\":\"BF16\",\"shape\":[258,128]," + offsets + "}", "7"));
    with("an unknown key", replaced(header, offsets, offsets + ",\"stride\":1"));
    with("no dtype", replaced(header, "\"dtype\":\"BF16\",", ""));
    with("no shape", replaced(header, "\"shape\":[258,128],", ""));
    with("no offsets", replaced(header, "," + offsets, ""));
    with("an unknown dtype", replaced(header, "\"BF16\"", "\"BF17\""));
    with("a dtype not read", replaced(header, "\"BF16\"", "\"F16\""));
    with("a dtype that is no string", replaced(header, "\"BF16\"", "16"));
    with("a shape that is no array", replaced(header, "[258,128]", "33024"));
    with("a shape of halves", replaced(header, "[258,128]", "[258.0,128]"));
    with("a shape below zero", replaced(header, "[258,128]", "[-258,-128]"));
    with("a shape that overflows", replaced(header, "[258,128]", "[4294967296,4294967296]"));
    with("a shape beyond 64 bits", replaced(header, "[258,128]", "[36893488147419103232]"));
    with("nine dimensions", replaced(header, "[258,128]", "[258,128,1,1,1,1,1,1,1]"));
    with("another size", replaced(header, "[258,128]", "[258,127]"));
    with("one offset", replaced(header, "[0,66048]", "[66048]"));
    with("three offsets", replaced(header, "[0,66048]", "[0,66048,66048]"));
    with("offsets that are no array", replaced(header, "[0,66048]", "{\"a\":0,\"b\":66048}"));
    with("offsets below zero", replaced(header, "[0,66048]", "[-2,66046]"));
    with("offsets in reverse", replaced(header, "[0,66048]", "[66048,0]"));
    with("offsets past the end", replaced(header, "[0,66048]", "[1000000000,1000066048]"));
    with("enormous offsets", replaced(header, "[0,66048]", "[0,1e308]"));
    with("an overlap", replaced(header, "\"data_offsets\":[66048,66560]", "\"data_offsets\":[66044,66556]"));
    with("a hole", replaced(header, "[0,66048]", "[2,66050]"));
    with("a name with NUL", replaced(header, "\"text.embedding\"", "\"text\\u0000.embedding\""));
}

TEST(malformed, data_off_its_scalar) {
    checkpoint_t odd;
    odd.tensors.insert(odd.tensors.begin(), {"odd", "BF16", {1}}); // every F32 tensor behind it lies two bytes off
    expect_malformed("an odd count before", odd.bytes());
}

TEST(malformed, more_tensors_than_anybody_needs) {
    std::string header = "{";
    for (int i = 0; i < 16385; ++i)
        header +=
            (i ? ",\"" : "\"") + std::to_string(i) + "\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[0,0]}";
    ASSERT_LT(header.size(), std::size_t(1) << 20);
    expect_malformed("too many tensors", safetensors(header + "}", ""));
}

TEST(malformed, metadata) {
    auto const with = [](char const *what, std::string const &key, char const *value) {
        checkpoint_t checkpoint;
        if (value)
            checkpoint.metadata[key] = value;
        else
            checkpoint.metadata.erase(key);
        expect_malformed(what, checkpoint.bytes());
    };
    for (char const *key : {"format", "version", "hidden", "depth", "context"}) {
        with(key, key, nullptr);
        for (char const *value : {"", "x", "-1", "1.0", " 4", "4 ", "+4", "0x4", "18446744073709551616"})
            with(key, key, value);
    }
    with("another format", "format", "UForm");
    with("an older version", "version", "3");
    with("a newer version", "version", "5");
    with("no width", "hidden", "0");
    with("half a width", "hidden", "64");
    with("an odd width", "hidden", "192");
    with("another width", "hidden", "256");
    with("an endless width", "hidden", "16512");
    with("no block", "depth", "0");
    with("another depth", "depth", "2");
    with("endless blocks", "depth", "1025");
    with("no context", "context", "0");
    with("an endless context", "context", "65537");
    with("a token width that is no number", "token_width", "x");
}

TEST(malformed, tensors) {
    checkpoint_t const right;
    for (std::size_t at = 0; at < right.tensors.size(); ++at) {
        checkpoint_t missing = right, shape = right, dtype = right;
        missing.tensors.erase(missing.tensors.begin() + std::ptrdiff_t(at));
        expect_malformed(("without " + right.tensors[at].name).c_str(), missing.bytes());
        shape.tensors[at].shape.push_back(1);
        expect_malformed(("another rank of " + right.tensors[at].name).c_str(), shape.bytes());
        dtype.tensors[at].dtype = right.tensors[at].dtype == "F32" ? "BF16" : "F32";
        expect_malformed(("another dtype of " + right.tensors[at].name).c_str(), dtype.bytes());
    }
    checkpoint_t width(16);
    width.metadata["token_width"] = "8";
    expect_malformed("token widths that disagree", width.bytes());
    checkpoint_t half(0, true);
    half.tensors.pop_back();
    expect_malformed("a decoder without a bias", half.bytes());
    checkpoint_t more = right;
    more.tensors.push_back({"unknown", "F32", {3}});
    expect_loads("a tensor nobody asks for", more.bytes(), uform_status_success_k);
}

TEST(malformed, weights_that_are_not_finite) {
    checkpoint_t const right;
    for (tensor_t const &tensor : right.tensors) {
        std::string const infinity =
            tensor.dtype == "F32" ? std::string("\0\0\x80\x7f", 4) : std::string("\x80\xff", 2);
        std::string const nan = tensor.dtype == "F32" ? std::string("\1\0\x80\x7f", 4) : std::string("\xc0\x7f", 2);
        for (std::string const &value : {infinity, nan}) {
            checkpoint_t spoiled = right;
            std::string &data = spoiled.data[tensor.name] = std::string(tensor.bytes(), 0);
            data.replace(data.size() - value.size(), value.size(), value);
            expect_malformed(tensor.name.c_str(), spoiled.bytes());
        }
    }
}

} // namespace
} // namespace conformance
