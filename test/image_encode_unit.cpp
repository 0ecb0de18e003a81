/**
 *  @file image_encode_unit.cpp
 *  @brief Pictures through the ABI: files that say the same answer the same bits, whatever they are stored as, beside
 *  whatever else, on however many threads; a bad one is named, and costs the others nothing.
 */
#include "picture_fixture.hpp"

#include <uform/media/image.hpp>

#include <chrono>

namespace uform::test {
namespace {

checkpoint_fixture_t const &checkpoint() {
    static checkpoint_fixture_t const fixture(picture_options());
    return fixture;
}

/** The picture that test/cases encodes: 4 x 6 squares of 32 pixels, in eight colours. */
picture_t squares() {
    static constexpr unsigned char colours[8][3] = {{230, 20, 20},  {20, 200, 40},  {30, 40, 220},   {240, 220, 30},
                                                    {20, 210, 210}, {200, 40, 200}, {250, 250, 250}, {10, 10, 10}};
    picture_t picture {128, 192, {}};
    for (std::size_t y = 0; y < 128; ++y)
        for (std::size_t x = 0; x < 192; ++x)
            picture.pixels.append(
                reinterpret_cast<char const *>(colours[(y / 32 * 3 + x / 32 * 5 + (y / 32 == 1)) % 8]), 3);
    return picture;
}

TEST(image_encode, lossless_files_of_one_picture_have_one_answer) {
    picture_caller_t caller(checkpoint());
    std::string const pixels = caller.bits(std::vector {squares()}).at(0);
    for (char const *name : {"rgb8.png", "rgba8_opaque.png", "rgb16.png", "lossless.webp", "palette.png"})
        EXPECT_TRUE(caller.bits(case_file(std::string("image/") + name)) == pixels) << name;
    EXPECT_TRUE(caller.bits(case_file("image/gray16.png")) == caller.bits(case_file("image/gray8.png")));
    EXPECT_TRUE(caller.bits(case_file("image/alpha_hidden_a.png")) ==
                caller.bits(case_file("image/alpha_hidden_b.png")));
    EXPECT_FALSE(caller.bits(case_file("image/alpha_hidden_a.png")) == pixels);
}

TEST(image_encode, lossy_files_of_it_are_near) {
    picture_caller_t caller(checkpoint());
    ASSERT_TRUE(caller.encode({squares()}));
    std::vector<float> const pixels = caller.embedding(0);
    for (char const *name : {"base.jpg", "progressive.jpg", "cmyk_adobe.jpg"}) {
        ASSERT_TRUE(caller.encode(std::vector {case_file(std::string("image/") + name)}));
        EXPECT_GE(cosine(caller.embedding(0), pixels), 0.999) << name;
    }
}

TEST(image_encode, every_way_to_hold_a_camera_has_one_answer) {
    picture_caller_t caller(checkpoint());
    ASSERT_TRUE(caller.encode({squares()}));
    std::vector<float> const pixels = caller.embedding(0);
    std::string const upright = caller.bits(case_file("image/base.jpg"));
    for (int number = 1; number <= 8; ++number) {
        EXPECT_TRUE(caller.bits(case_file("image/exif_" + std::to_string(number) + ".jpg")) == upright) << number;
        EXPECT_GE(cosine(caller.embedding(0), pixels), 1 - 1e-3) << number;
    }
}

TEST(image_encode, odd_sizes_are_finite_unit_rows) {
    picture_caller_t caller(checkpoint());
    std::size_t const tokens[] = {1, 256, 256, 1, 4}; // ceil(side / 16), clamped to the grid's 512
    std::size_t at = 0;
    for (char const *name : {"1x1", "1x4096", "4096x1", "15x15", "17x17"}) {
        ASSERT_TRUE(caller.encode(std::vector {case_file("image/size_" + std::string(name) + ".png")})) << name;
        EXPECT_NEAR(cosine(caller.embedding(0), caller.embedding(0)), 1, 128 * 0x1p-23) << name;
        EXPECT_EQ(caller.outputs.stats.tokens, tokens[at++]) << name;
    }
}

/** Cases of many sizes and formats, and pixels of others. */
std::vector<std::string> mixed_files() {
    std::vector<std::string> files;
    for (char const *name : {"base.jpg", "size_1x1.png", "exif_6.jpg", "lossless.webp", "size_4096x1.png", "gray16.png",
                             "size_17x17.png", "alpha_hidden_a.png", "cmyk_adobe.jpg", "size_1x4096.png"})
        files.push_back(case_file(std::string("image/") + name));
    return files;
}

TEST(image_encode, neighbours_order_and_threads_change_no_bit) {
    std::vector<std::string> files = mixed_files();
    std::vector<picture_t> pictures;
    for (std::size_t side : {300, 5, 64, 33, 700})
        pictures.push_back(drawn_picture(side, 2 * side + 1, std::uint32_t(side)));
    for (uform_scalar_t const quantization : {uform_scalar_bf16_k, uform_scalar_e4m3_k}) {
        picture_caller_t alone(checkpoint(), 0, uform_cpu_class_derived_k, quantization);
        std::vector<std::string> of_files, of_pixels;
        for (std::string const &file : files) of_files.push_back(alone.bits(file));
        for (picture_t const &picture : pictures) of_pixels.push_back(alone.bits(std::vector {picture}).at(0));
        for (std::size_t const threads : {1, 2, 3}) {
            picture_caller_t caller(checkpoint(), threads, uform_cpu_class_derived_k, quantization);
            EXPECT_TRUE(caller.bits(files) == of_files) << threads;
            EXPECT_TRUE(caller.bits(pictures) == of_pixels) << threads;
            std::vector<std::string> const reversed(files.rbegin(), files.rend());
            EXPECT_TRUE(caller.bits(reversed) == std::vector<std::string>(of_files.rbegin(), of_files.rend()));
        }
    }
}

TEST(image_encode, queued_and_asked_less_it_has_the_same_bits) {
    picture_caller_t caller(checkpoint(), 2);
    std::vector<std::string> const files = mixed_files();
    ASSERT_TRUE(caller.encode(files)) << caller.outcome.message;
    std::string const embeddings = bytes_of_rows(caller.outputs.embeddings);
    std::string const states = bytes_of_rows(caller.outputs.states);
    text_tape_t const tape(files);
    for (int const surfaces : {embeddings_k, states_k})
        for (uform_completion_t const completion : {uform_completion_blocking_k, uform_completion_queued_k}) {
            uform_image_encode_t call {};
            caller.outputs.ask(call, caller.model, surfaces);
            call.files = tape.view(), call.count = tape.count();
            ASSERT_TRUE(caller.make(uform_image_encode, call, completion)) << caller.outcome.message;
            if (surfaces == embeddings_k)
                EXPECT_TRUE(bytes_of_rows(caller.outputs.embeddings) == embeddings);
            else
                EXPECT_TRUE(bytes_of_rows(caller.outputs.states) == states);
        }
}

TEST(image_encode, a_bad_file_is_named_and_costs_the_others_nothing) {
    std::string const good = case_file("image/base.jpg"), other = case_file("image/rgb8.png");
    for (std::size_t const threads : {0, 2}) {
        picture_caller_t caller(checkpoint(), threads);
        std::vector<std::string> const before = caller.bits(std::vector {good, other});
        for (char const *name : {"empty.jpg", "html.jpg", "png_corrupt.png", "png_truncated.png", "riff_not_webp.webp",
                                 "soi_then_noise.jpg", "truncated.jpg"}) {
            auto const start = std::chrono::steady_clock::now();
            EXPECT_FALSE(caller.encode({good, case_file(std::string("bad/") + name), other})) << name;
            std::string const file = name;
            bool const foreign = file == "html.jpg" || file == "riff_not_webp.webp";
            EXPECT_EQ(caller.outcome.status, foreign ? uform_status_unknown_kind_k : uform_status_malformed_k) << name;
            EXPECT_EQ(caller.outcome.item, 1u) << name << ": " << caller.outcome.message;
            EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(1)) << name;
            EXPECT_TRUE(caller.bits(std::vector {good, other}) == before) << name;
        }
    }
}

TEST(image_encode, a_file_cut_short_is_refused_wherever_it_is_cut) {
    picture_caller_t caller(checkpoint());
    for (char const *name : {"base.jpg", "progressive.jpg", "rgb8.png", "lossless.webp", "alpha_hidden_a.png"}) {
        std::string const whole = case_file(std::string("image/") + name);
        for (std::size_t part = 0; part < 10; ++part) {
            std::size_t const length = part == 9 ? whole.size() - 1 : whole.size() * part / 9;
            EXPECT_FALSE(caller.encode(std::vector {whole.substr(0, length)}, {}, embeddings_k))
                << name << " " << length;
            EXPECT_EQ(caller.outcome.status, uform_status_malformed_k) << name << " cut to " << length;
        }
    }
}

/** A chunk that pixels or their orientation hang on, its checksum wrong: not a picture of another meaning. */
TEST(image_encode, a_png_with_a_wrong_checksum_is_malformed) {
    picture_caller_t caller(checkpoint());
    std::string const good = case_file("image/rgb8.png");
    for (char const *chunk : {"tRNS\0\0\0\0\0\0", "eXIfMM\0*\0\0", "tEXtabc\0de"}) {
        std::string const name_and_data(chunk, 10);
        std::string file = good.substr(0, 33) + std::string("\0\0\0\6", 4) + name_and_data + "CRC?" + good.substr(33);
        EXPECT_FALSE(caller.encode(std::vector {file}, {}, embeddings_k)) << chunk;
        EXPECT_EQ(caller.outcome.status, uform_status_malformed_k) << chunk << caller.outcome.message;
    }
}

/** Rows of a file, end to end. */
std::string rows_of(std::string const &bytes, image_header_t &header) {
    file_t const file(reinterpret_cast<std::uint8_t const *>(bytes.data()), bytes.size());
    EXPECT_FALSE(read_image_header(file, {}, header));
    struct rows_t {
        std::string all;
        std::size_t bytes;
    } rows {{}, header.width * header.channels};
    row_sink_t const sink {[](void *self, std::uint8_t const *row) noexcept {
                               rows_t &rows = *static_cast<rows_t *>(self);
                               rows.all.append(reinterpret_cast<char const *>(row), rows.bytes);
                               return true;
                           },
                           &rows};
    EXPECT_FALSE(decode_image(file, header, 1, sink));
    return rows.all;
}

/** An animation whose first frame is 6 columns and 4 rows within its canvas; what it leaves is transparent. */
TEST(image_encode, a_first_frame_lies_where_it_says) {
    image_header_t still, canvas;
    std::string const inner = rows_of(case_file("image/lossless.webp"), still);
    std::string const outer = rows_of(
        uform_test::get_file(std::string(UFORM_SOURCE_DIR) + "/test/fuzz/corpus/webp/frame_within.webp"), canvas);
    ASSERT_TRUE(canvas.width == still.width + 12 && canvas.height == still.height + 8);
    ASSERT_EQ(canvas.channels, 4u);
    for (std::size_t y = 0; y < canvas.height; ++y)
        for (std::size_t x = 0; x < canvas.width; ++x) {
            bool const within = y >= 4 && y < still.height + 4 && x >= 6 && x < still.width + 6;
            std::size_t const at = within ? ((y - 4) * still.width + x - 6) * still.channels : 0;
            std::string const expected = within ? inner.substr(at, 3) + '\xff' : std::string(4, '\0');
            ASSERT_EQ(outer.substr((y * canvas.width + x) * 4, 4), expected) << y << " " << x;
        }
}

TEST(image_encode, bombs_are_refused_by_their_headers) {
    picture_caller_t caller(checkpoint());
    for (char const *name : {"16384x16384.webp", "50000x50000.png", "65500x65500.jpg"}) {
        std::string const file = case_file(std::string("bomb/") + name);
        auto const start = std::chrono::steady_clock::now();
        EXPECT_FALSE(caller.encode(std::vector {file}));
        EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(50)) << name;
        EXPECT_EQ(caller.outcome.status, uform_status_malformed_k) << name;
        EXPECT_NE(std::string(caller.outcome.message).find("max_pixels"), std::string::npos) << caller.outcome.message;
    }
}

TEST(image_encode, limits_are_the_callers) {
    picture_caller_t caller(checkpoint());
    std::string const file = case_file("image/base.jpg"); // 128 x 192
    uform_limits_t limits {};
    limits.max_pixels = 128 * 192, limits.max_file_bytes = file.size();
    EXPECT_TRUE(caller.encode(std::vector {file}, limits)) << caller.outcome.message;
    limits.max_pixels -= 1;
    EXPECT_FALSE(caller.encode(std::vector {file}, limits));
    EXPECT_EQ(caller.outcome.status, uform_status_malformed_k);
    limits.max_pixels = 0, limits.max_file_bytes -= 1;
    EXPECT_FALSE(caller.encode(std::vector {file}, limits));
    EXPECT_EQ(caller.outcome.status, uform_status_malformed_k);
    EXPECT_EQ(caller.outcome.item, 0u);
}

TEST(image_encode, a_short_context_cuts_the_grid_from_below) {
    checkpoint_fixture_t const cut_checkpoint(picture_options(40));
    picture_caller_t cut(cut_checkpoint);
    ASSERT_TRUE(cut.encode({squares(), drawn_picture(16, 16, 3)})); // 8 rows of 12 patches; one patch
    EXPECT_EQ(cut.outputs.stats.truncated, 1u);
    EXPECT_EQ(cut.outputs.stats.tokens, 41u);
}

TEST(image_encode, a_model_of_texts_alone_says_so) {
    model_options_t options = picture_options();
    options.image = {};
    checkpoint_fixture_t const text_checkpoint(options);
    picture_caller_t caller(text_checkpoint);
    EXPECT_FALSE(caller.encode({squares()}));
    EXPECT_EQ(caller.outcome.status, uform_status_unsupported_k);
    EXPECT_FALSE(caller.encode(std::vector {case_file("image/base.jpg")}));
    EXPECT_EQ(caller.outcome.status, uform_status_unsupported_k);
}

TEST(image_encode, no_pictures_are_no_rows) {
    picture_caller_t caller(checkpoint());
    EXPECT_TRUE(caller.encode(std::vector<std::string> {})) << caller.outcome.message;
    EXPECT_EQ(caller.outputs.embeddings.count, 0u);
    EXPECT_TRUE(caller.encode(std::vector<picture_t> {})) << caller.outcome.message;
}

TEST(image_encode, pixels_must_fill_their_sides) {
    picture_caller_t caller(checkpoint());
    std::vector<picture_t> pictures {drawn_picture(4, 5, 1), drawn_picture(6, 7, 2)};
    pictures[1].width = 8;
    EXPECT_FALSE(caller.encode(pictures));
    EXPECT_EQ(caller.outcome.status, uform_status_shape_mismatch_k);
    EXPECT_EQ(caller.outcome.item, 1u);
    pictures[0].height = 0;
    EXPECT_FALSE(caller.encode(pictures));
    EXPECT_EQ(caller.outcome.status, uform_status_invalid_argument_k);
    EXPECT_EQ(caller.outcome.item, 0u);
}

TEST(image_encode, progress_counts_pictures_and_stops_them) {
    picture_caller_t caller(checkpoint());
    text_tape_t const tape(mixed_files());
    struct seen_t {
        std::size_t calls = 0, last = 0, stop_at = SIZE_MAX;
    } seen;
    uform_image_encode_t call {};
    caller.outputs.ask(call, caller.model);
    call.files = tape.view(), call.count = tape.count();
    call.progress = {[](std::size_t completed, std::size_t, void *context) {
                         seen_t &seen = *static_cast<seen_t *>(context);
                         seen.last = completed;
                         return ++seen.calls < seen.stop_at;
                     },
                     &seen};
    EXPECT_TRUE(caller.make(uform_image_encode, call));
    EXPECT_EQ(seen.last, tape.count());
    seen = {0, 0, 1};
    EXPECT_FALSE(caller.make(uform_image_encode, call));
    EXPECT_EQ(caller.outcome.status, uform_status_cancelled_k);
    EXPECT_EQ(seen.calls, 1u);
}

} // namespace
} // namespace uform::test
