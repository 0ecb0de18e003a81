/**
 *  @file e4m3.cpp
 *  @brief Blocks quantized to E4M3 as a model loads.
 */
#include "encoding.hpp"

namespace conformance {
namespace {

TEST(e4m3, loads_describes_and_encodes) {
    std::string const bytes = checkpoint_t(24).bytes();
    model_t narrow, wide;
    load_bytes(wide, bytes);
    uform_model_load_ram_buffer_t load {};
    load.model = narrow.out(), load.buffer = view(bytes), load.quantization = uform_scalar_e4m3_k;
    EXPECT_SUCCESS(answer(uform_model_load_ram_buffer, load));
    uform_model_description_t descriptions[2];
    for (int i = 0; i < 2; ++i) {
        uform_model_describe_t call {};
        call.model = i ? narrow : wide, call.description = &descriptions[i];
        EXPECT_SUCCESS(answer(uform_model_describe, call));
    }
    EXPECT_EQ(descriptions[0].quantization, uform_scalar_bf16_k);
    EXPECT_EQ(descriptions[1].quantization, uform_scalar_e4m3_k);
    EXPECT_LT(descriptions[1].memory_usage, descriptions[0].memory_usage);
    EXPECT_EQ(descriptions[1].dimensions, 128u);
    encoding_t const encoding;
    encoded_t got;
    auto call = encoding.call(got);
    call.model = narrow;
    uform_text_encode(&call);
    EXPECT_SUCCESS(got.outcome);
    for (auto const &row : landed_t(got.embeddings).rows) expect_unit(row, 2 * (128 + 3) * 0x1p-24);
}

TEST(e4m3, loads_by_path) {
    model_t model;
    uform_model_load_ram_t load {};
    load.model = model.out(), load.path = view(nano_path()), load.quantization = uform_scalar_e4m3_k;
    EXPECT_SUCCESS(answer(uform_model_load_ram, load));
}

} // namespace
} // namespace conformance
