/**
 *  @file images.cpp
 *  @brief The image verbs: what they refuse of arguments, files and models, and what they count.
 */
#include "encoding.hpp"

namespace conformance {
namespace {

using files_t = uform_image_encode_t;
using pixels_t = uform_image_encode_pixels_t;
constexpr auto invalid_k = uform_status_invalid_argument_k;
constexpr auto malformed_k = uform_status_malformed_k;

std::string number_of(std::size_t value, std::size_t bytes) {
    std::string text;
    for (std::size_t i = bytes; i-- > 0;) text += char(value >> (8 * i) & 0xff);
    return text;
}
/** A PNG that is right up to its header's end. */
std::string png_header(std::size_t width, std::size_t height) {
    return std::string("\x89PNG\r\n\x1a\n\0\0\0\rIHDR", 16) + number_of(width, 4) + number_of(height, 4);
}

/** A model of images, one of texts alone, an arena, four pictures as files and as pixels. */
struct images_t {
    model_t model, texts_alone;
    arena_t arena;
    tape_t files {{wide_png_k, wide_png_k, wide_png_k}}, pixels {{std::string(12, 'a'), std::string(17 * 33 * 3, 'b')}};
    std::vector<std::size_t> heights {1, 17}, widths {4, 33};

    images_t() {
        load_bytes(model, checkpoint_t(24).with_images().bytes());
        load_bytes(texts_alone, checkpoint_t(24).bytes());
        make_arena(arena);
    }
    template <typename call_>
    call_ ask(encoded_t &got) const {
        call_ call {};
        call.model = model, call.arena = arena, call.stats = &got.stats;
        call.embeddings = &got.embeddings, call.states = &got.states, call.token_vectors = &got.token_vectors;
        return call;
    }
    files_t over_files(encoded_t &got) const {
        files_t call = ask<files_t>(got);
        call.files = files.view(), call.count = files.count();
        return call;
    }
    pixels_t over_pixels(encoded_t &got) const {
        pixels_t call = ask<pixels_t>(got);
        call.pixels = pixels.view(), call.count = pixels.count();
        call.heights = heights.data(), call.widths = widths.data();
        return call;
    }
};

/** What both verbs refuse alike. */
template <typename call_>
std::vector<breakage_t<call_>> shared_breakages(images_t const &images) {
    std::vector<breakage_t<call_>> breakages {
        {"no model", invalid_k, "model", [](call_ &c) { c.model = nullptr; }},
        {"a completion beyond", invalid_k, "completion", [](call_ &c) { c.completion = 2; }},
        {"a model of texts alone", uform_status_unsupported_k, "image entry",
         [&](call_ &c) { c.model = images.texts_alone; }},
        {"endless items", invalid_k, "items", [](call_ &c) { c.count = SIZE_MAX; }},
        {"no output", invalid_k, "embeddings",
         [](call_ &c) { c.embeddings = nullptr, c.states = nullptr, c.token_vectors = nullptr; }},
        {"no arena", invalid_k, "arena", [](call_ &c) { c.arena = nullptr; }},
        {"too many dimensions", uform_status_shape_mismatch_k, "dimensions", [](call_ &c) { c.dimensions = 129; }},
        {"states as i8", uform_status_unsupported_k, "i8", [](call_ &c) { c.outputs_scalar = uform_scalar_i8_k; }},
        {"landing as no output does", invalid_k, "outputs_scalar",
         [](call_ &c) { c.outputs_scalar = uform_scalar_u8_k; }}};
    return breakages;
}

TEST(images, files_refuse_every_field) {
    images_t const images;
    encoded_t got;
    static std::size_t const decreasing[] = {0, 4, 3, 5};
    auto breakages = shared_breakages<files_t>(images);
    breakages.push_back({"no offsets", invalid_k, "files.offsets", [](files_t &c) { c.files.offsets = nullptr; }});
    breakages.push_back(
        {"offsets that decrease", invalid_k, "files.offsets", [](files_t &c) { c.files.offsets = decreasing; }, 1});
    breakages.push_back({"no data", invalid_k, "files.data", [](files_t &c) { c.files.data = nullptr; }});
    breakages.push_back(
        {"another scalar", invalid_k, "files.scalar", [](files_t &c) { c.files.scalar = uform_scalar_f32_k; }});
    breakages.push_back({"few pixels", malformed_k, "max_pixels", [](files_t &c) { c.limits.max_pixels = 3; }, 0});
    breakages.push_back({"few bytes", malformed_k, "max_file_bytes",
                         [](files_t &c) { c.limits.max_file_bytes = wide_png_k.size() - 1; }, 0});
    expect_refusals<files_t>(uform_image_encode, images.over_files(got), breakages);
}

TEST(images, pixels_refuse_every_field) {
    images_t const images;
    encoded_t got;
    static std::size_t const zero[] = {1, 0}, narrow[] = {4, 0}, endless[] = {1, SIZE_MAX}, other[] = {1, 18};
    auto breakages = shared_breakages<pixels_t>(images);
    breakages.push_back({"no heights", invalid_k, "heights", [](pixels_t &c) { c.heights = nullptr; }});
    breakages.push_back({"no widths", invalid_k, "widths", [](pixels_t &c) { c.widths = nullptr; }});
    breakages.push_back({"no height", invalid_k, "heights", [](pixels_t &c) { c.heights = zero; }, 1});
    breakages.push_back({"no width", invalid_k, "widths", [](pixels_t &c) { c.widths = narrow; }, 1});
    breakages.push_back({"endless heights", invalid_k, "heights", [](pixels_t &c) { c.heights = endless; }, 1});
    breakages.push_back(
        {"other heights", uform_status_shape_mismatch_k, "pixels", [](pixels_t &c) { c.heights = other; }, 1});
    breakages.push_back(
        {"another scalar", invalid_k, "pixels.scalar", [](pixels_t &c) { c.pixels.scalar = uform_scalar_f32_k; }});
    expect_refusals<pixels_t>(uform_image_encode_pixels, images.over_pixels(got), breakages);
}

TEST(images, files_of_no_picture_are_named) {
    images_t const images;
    std::string const jpeg("\xff\xd8\xff\xc0\0\x0b\x08\0\0\0\x01\x01\x01\x11\0", 15);
    struct row_t {
        char const *what;
        std::string file;
        uform_status_t status;
    };
    for (row_t const &row :
         std::vector<row_t> {{"nothing", "", malformed_k},
                             {"a page", "<html>404</html>", uform_status_unknown_kind_k},
                             {"a recording", std::string("RIFF\x10\0\0\0WAVEfmt ", 16), uform_status_unknown_kind_k},
                             {"the first byte of a PNG", wide_png_k.substr(0, 1), malformed_k},
                             {"a PNG's signature", wide_png_k.substr(0, 8), malformed_k},
                             {"half of its header", wide_png_k.substr(0, 20), malformed_k},
                             {"a PNG of a size no memory holds", png_header(50000, 50000), malformed_k},
                             {"a JPEG's first bytes", std::string("\xff\xd8\xff", 3), malformed_k},
                             {"a JPEG without rows", jpeg, malformed_k},
                             {"a WebP's first bytes", std::string("RIFF\x10\0\0\0WEBPVP8 ", 16), malformed_k}}) {
        SCOPED_TRACE(row.what);
        tell_row(row.what, row.status, "", 1, &row.file);
        tape_t const files({wide_png_k, row.file, wide_png_k});
        encoded_t got;
        files_t call = images.over_files(got);
        call.files = files.view();
        outcome_t const outcome = answer(uform_image_encode, call);
        EXPECT_STATUS(outcome, row.status);
        EXPECT_EQ(outcome.item, 1u);
        EXPECT_EQ(got.embeddings.data, nullptr);
    }
}

TEST(images, count_their_patches) {
    images_t const images;
    encoded_t files, pixels;
    ASSERT_NO_FATAL_FAILURE(EXPECT_SUCCESS(answer(uform_image_encode, images.over_files(files))));
    EXPECT_EQ(files.embeddings.count, 3u);
    EXPECT_EQ(files.stats.tokens, 3u); // a patch each
    EXPECT_EQ(files.stats.truncated, 0u);
    EXPECT_SUCCESS(answer(uform_image_encode_pixels, images.over_pixels(pixels)));
    EXPECT_EQ(pixels.stats.tokens, 1u + 2 * 3); // 17 x 33 pixels reach into 2 x 3 patches of 16
    ASSERT_NE(pixels.states.offsets, nullptr);
    EXPECT_EQ(pixels.states.offsets[1], 1u);
    landed_t const rows(pixels.embeddings);
    for (auto const &row : rows.rows) expect_unit(row, 1e-5);
}

TEST(images, of_many_patches_are_cut_to_the_context) {
    images_t const images;
    tape_t const pixels({std::string(160 * 160 * 3, 'x')}); // 10 x 10 patches; the context is 64
    std::size_t const side = 160;
    encoded_t got;
    pixels_t call = images.over_pixels(got);
    call.pixels = pixels.view(), call.count = 1, call.heights = call.widths = &side;
    EXPECT_SUCCESS(answer(uform_image_encode_pixels, call));
    EXPECT_EQ(got.stats.tokens, 64u);
    EXPECT_EQ(got.stats.truncated, 1u);
}

TEST(images, checkpoints_tell_their_entry) {
    struct row_t {
        char const *what, *word;
        void (*spoil)(checkpoint_t &);
    };
    for (row_t const &row : std::vector<row_t> {
             {"no bias", "lacks", [](checkpoint_t &c) { c["image.projection.bias"].name = "other"; }},
             {"no mask", "lacks", [](checkpoint_t &c) { c["image.mask"].name = "other"; }},
             {"no weight", "lacks", [](checkpoint_t &c) { c["image.projection.weight"].name = "other"; }},
             {"another side", "shape", [](checkpoint_t &c) { c.metadata["image.patch_side"] = "8"; }},
             {"no side", "range", [](checkpoint_t &c) { c.metadata["image.patch_side"] = "0"; }},
             {"an endless side", "range", [](checkpoint_t &c) { c.metadata["image.patch_side"] = "65"; }},
             {"a word for a side", "number", [](checkpoint_t &c) { c.metadata["image.patch_side"] = "ten"; }},
             {"five channels", "range", [](checkpoint_t &c) { c.metadata["image.channels"] = "5"; }}}) {
        SCOPED_TRACE(row.what);
        checkpoint_t checkpoint = checkpoint_t().with_images();
        row.spoil(checkpoint);
        std::string const bytes = checkpoint.bytes();
        tell_row(row.what, malformed_k, row.word, SIZE_MAX, &bytes);
        model_t model;
        uform_model_load_ram_buffer_t call {};
        call.model = model.out(), call.buffer = view(bytes);
        outcome_t const outcome = answer(uform_model_load_ram_buffer, call);
        EXPECT_STATUS(outcome, malformed_k);
        EXPECT_NE(std::string(outcome.message).find(row.word), std::string::npos) << told(outcome);
    }
    for (std::size_t const channels : {3, 4}) {
        model_t model;
        load_bytes(model, checkpoint_t().with_images(8, channels).bytes());
        uform_model_description_t it {};
        uform_model_describe_t call {};
        call.model = model, call.description = &it;
        EXPECT_SUCCESS(answer(uform_model_describe, call));
        EXPECT_EQ(it.image.patch_side, 8u);
        EXPECT_EQ(it.image.channels, channels);
    }
}

} // namespace
} // namespace conformance
