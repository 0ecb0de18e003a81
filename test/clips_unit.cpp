/**
 *  @file clips_unit.cpp
 *  @brief A clip's tubes against means made here of its frames, cell by cell: which frames, where, when, which way up.
 */
#include <clips.hpp>

#include "clip_fixture.hpp"

namespace uform::test {
namespace {

file_t view_of(std::string const &file) { return {reinterpret_cast<std::uint8_t const *>(file.data()), file.size()}; }

/** Frames as `decode_clip` shows them, which media_video holds against ffmpeg's. */
struct shown_t {
    struct frame_t {
        clip_frame_t told;
        std::string pixels;
    };
    std::vector<frame_t> frames;

    explicit shown_t(std::string const &file) {
        frame_sink_t const sink {[](void *self, clip_frame_t const &frame) noexcept {
                                     static_cast<shown_t *>(self)->frames.push_back({frame, {}});
                                     return frame_wish_t::rows_k;
                                 },
                                 [](void *self, std::uint8_t const *row) noexcept {
                                     frame_t &frame = static_cast<shown_t *>(self)->frames.back();
                                     frame.pixels.append(reinterpret_cast<char const *>(row), frame.told.width * 3);
                                 },
                                 this};
        failure_t const failure = decode_clip({view_of(file)}, clip_pass_t::rows_k, sink);
        EXPECT_FALSE(failure) << failure.message;
    }
    /** A value of the upright picture. */
    double at(std::size_t frame, std::size_t y, std::size_t x, std::size_t channel) const {
        auto const &[told, pixels] = frames[frame];
        std::size_t const right = told.upright_width() - 1 - x, below = told.upright_height() - 1 - y;
        std::size_t const places[8][2] = {{y, x}, {y, right}, {below, right}, {below, x},
                                          {x, y}, {right, y}, {right, below}, {x, below}}; // row, column, as stored
        auto const &[row, column] = places[told.orientation.number - 1];
        return static_cast<unsigned char>(pixels[(row * told.width + column) * 3 + channel]);
    }
    /** The mean of the upright pixels that a cell covers, each by how much of it. */
    double cell(std::size_t frame, std::size_t row, std::size_t rows, std::size_t column, std::size_t columns,
                std::size_t channel) const {
        std::size_t const height = frames[frame].told.upright_height(), width = frames[frame].told.upright_width();
        double sum = 0;
        for (std::size_t y = 0; y < height; ++y)
            for (std::size_t x = 0; x < width; ++x)
                sum += at(frame, y, x, channel) * covered(y, rows, row, height) * covered(x, columns, column, width);
        return sum / double(height * width);
    }

  private:
    /** Of a side of `pixels` in `cells`, how much of pixel i lies in cell j, in 1 / (pixels cells). */
    static double covered(std::size_t i, std::size_t cells, std::size_t j, std::size_t pixels) {
        double const from = std::max<double>(i * cells, j * pixels);
        double const to = std::min<double>((i + 1) * cells, (j + 1) * pixels);
        return std::max(0.0, to - from);
    }
};

struct filled_t {
    token_grid_t grid;
    std::vector<double> times;
    std::vector<bf16_t> tubes;
};
filled_t fill(std::string const &file, video_entry_t entry) {
    text_tape_t const tape({file});
    executor_t executor;
    clips_t clips(entry, tape_t<unsigned char>(tape.view(), 1), {});
    failure_t failure = clips.measure({}, executor);
    EXPECT_FALSE(failure) << failure.message;
    filled_t filled {clips.grids()[0], {}, {}};
    filled.times.assign(filled.grid.times, filled.grid.times + filled.grid.layers);
    filled.tubes.resize(filled.grid.tokens() * entry.token_values());
    failure = clips.fill(0, filled.grid.tokens(), filled.tubes.data());
    EXPECT_FALSE(failure) << failure.message;
    return filled;
}

/** All sums are of whole numbers below 2^53, so the means agree to the rounding of one division. */
void expect_tubes(std::string const &name, video_entry_t entry) {
    SCOPED_TRACE(name);
    std::string const file = clip_file(name);
    shown_t const shown(file);
    filled_t const filled = fill(file, entry);
    std::size_t const side = entry.patch_side, rows = filled.grid.rows, columns = filled.grid.columns;
    std::size_t const samples = (shown.frames.size() + entry.frame_stride - 1) / entry.frame_stride;
    ASSERT_EQ(filled.grid.layers, (samples + entry.tube_frames - 1) / entry.tube_frames);
    std::size_t at = 0, wrong = 0;
    for (std::size_t layer = 0; layer < filled.grid.layers; ++layer) {
        EXPECT_EQ(filled.times[layer], 16 * shown.frames[layer * entry.tube_frames * entry.frame_stride].told.seconds);
        for (std::size_t token = 0; token < rows * columns; ++token)
            for (std::size_t channel = 0; channel < 3; ++channel)
                for (std::size_t f = 0; f < entry.tube_frames; ++f)
                    for (std::size_t place = 0; place < side * side; ++place, ++at) {
                        std::size_t const sample = std::min(layer * entry.tube_frames + f, samples - 1);
                        double const mean =
                            shown.cell(sample * entry.frame_stride, token / columns * side + place / side, rows * side,
                                       token % columns * side + place % side, columns * side, channel);
                        wrong += widen(filled.tubes[at]) != widen(round_to_bf16(float(mean / 127.5 - 1.0)));
                    }
    }
    EXPECT_EQ(wrong, 0u) << "of " << at;
}

TEST(clips, tubes_are_means_of_frames) {
    expect_tubes("h264_odd.mp4", {16, 2, 1});    // 33 x 17
    expect_tubes("h264.mp4", {8, 2, 1});         // five frames: the last tube repeats one
    expect_tubes("h264_turned.mp4", {16, 1, 1}); // held 6, three frames
    expect_tubes("vp9.webm", {16, 2, 2});        // every other one of six
    expect_tubes("vp8.webm", {16, 4, 1});        // six of eight
}

TEST(clips, grids_follow_the_first_frame) {
    filled_t const filled = fill(clip_file("h264.mp4"), {16, 2, 1}); // 48 x 32, five frames, ten a second
    EXPECT_EQ(filled.grid.rows, 2u);
    EXPECT_EQ(filled.grid.columns, 3u);
    EXPECT_EQ(filled.grid.layers, 3u);
    ASSERT_EQ(filled.times.size(), 3u);
    for (std::size_t layer = 0; layer < 3; ++layer) EXPECT_NEAR(filled.times[layer], 16 * 0.2 * double(layer), 1e-12);
    EXPECT_FALSE(filled.grid.is_cut);
}

/** Asked in front of each packet and each frame, and whenever a demuxer reads: a stop is never told as damage. */
TEST(clips, decoding_stops_whenever_asked) {
    for (auto const &[name, pass] : std::vector<std::pair<char const *, clip_pass_t>> {
             {"h264_fragments.mp4", clip_pass_t::count_k}, // by packets, and by decoding
             {"h264_fragments.mp4", clip_pass_t::rows_k},
             {"vp9.webm", clip_pass_t::count_k},
             {"vp9.webm", clip_pass_t::rows_k}}) {
        SCOPED_TRACE(name);
        std::string const file = clip_file(name);
        std::size_t frames = 0, left = SIZE_MAX;
        frame_sink_t const sink {[](void *count, clip_frame_t const &) noexcept {
                                     ++*static_cast<std::size_t *>(count);
                                     return frame_wish_t::skip_k;
                                 },
                                 nullptr, &frames};
        stop_t const stop {[](void *left) noexcept { return (*static_cast<std::size_t *>(left))-- == 0; }, &left};
        ASSERT_FALSE(decode_clip({view_of(file), {}, stop}, pass, sink));
        std::size_t const all = frames, asked = SIZE_MAX - left;
        EXPECT_GE(asked, all);
        for (std::size_t after = 0; after < asked; ++after) {
            frames = 0, left = after;
            EXPECT_EQ(decode_clip({view_of(file), {}, stop}, pass, sink).status, uform_status_cancelled_k) << after;
            EXPECT_LE(frames, after) << "more frames came than it was asked for";
        }
    }
}

/** The handler hears of clips that are counted, none of them done: 20 ms are long before so many. */
TEST(clips, counting_asks_the_handler) {
    std::vector<std::string> const files(4000, clip_file("vp9.webm"));
    text_tape_t const tape(files);
    executor_t executor;
    clips_t clips({16, 2, 1}, tape_t<unsigned char>(tape.view(), files.size()), {});
    std::size_t seen = SIZE_MAX;
    uform_progress_t const handler {[](std::size_t completed, std::size_t, void *seen) {
                                        *static_cast<std::size_t *>(seen) = completed;
                                        return false;
                                    },
                                    &seen};
    failure_t const failure = clips.measure(handler, executor);
    EXPECT_EQ(failure.status, uform_status_cancelled_k);
    EXPECT_EQ(failure.item, failure_t::no_item_k);
    EXPECT_EQ(seen, 0u);
}

TEST(clips, filling_tubes_stops_when_asked) {
    text_tape_t const tape({clip_file("h264.mp4")});
    executor_t executor;
    clips_t clips({16, 2, 1}, tape_t<unsigned char>(tape.view(), 1), {});
    ASSERT_FALSE(clips.measure({}, executor));
    std::vector<bf16_t> tubes(clips.grids()[0].tokens() * 16 * 16 * 3 * 2);
    stop_t const stop {[](void *) noexcept { return true; }, nullptr};
    EXPECT_EQ(clips.fill(0, clips.grids()[0].tokens(), tubes.data(), stop).status, uform_status_cancelled_k);
}

TEST(clips, what_does_not_fit_is_cut) {
    // A side of one: 32 x 32 are 11 x 11 of 128, of which 1,024 hold eight layers; the clip has ten frames.
    filled_t const filled = fill(clip_file("h264_fragments.mp4"), {1, 1, 1});
    EXPECT_EQ(filled.grid.rows, 11u);
    EXPECT_EQ(filled.grid.columns, 11u);
    EXPECT_EQ(filled.grid.layers, 8u);
    EXPECT_TRUE(filled.grid.is_cut);
    // Of every other frame there are five.
    filled_t const strided = fill(clip_file("h264_fragments.mp4"), {1, 1, 2});
    EXPECT_EQ(strided.grid.layers, 5u);
    EXPECT_FALSE(strided.grid.is_cut);
}

} // namespace
} // namespace uform::test
