/**
 *  @file decoded_frames.cpp
 *  @brief Decodes the clips named on its input, one a line, for video_test.py to compare: each answer is a line of
 *  status and how many frames, then for each a line of width, height, orientation and seconds, and its rows' bytes;
 *  then a line of how many frames a pass that only counts has seen, and the seconds of the last.
 */
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include <uform/media/video.hpp>
#include <uform/types.h>

namespace {

struct frames_t {
    std::string all;
    std::size_t count = 0, row_bytes = 0;
    double seconds = 0;
    bool only_count = false;
};

uform::frame_wish_t see(void *self, uform::clip_frame_t const &frame) noexcept {
    frames_t &frames = *static_cast<frames_t *>(self);
    char line[128];
    std::snprintf(line, sizeof(line), "%zu %zu %d %.9f\n", frame.width, frame.height, int(frame.orientation.number),
                  frame.seconds);
    frames.seconds = frame.seconds, frames.row_bytes = frame.width * 3, ++frames.count;
    if (frames.only_count) return uform::frame_wish_t::skip_k;
    frames.all += line;
    return uform::frame_wish_t::rows_k;
}
void take(void *self, std::uint8_t const *row) noexcept {
    frames_t &frames = *static_cast<frames_t *>(self);
    frames.all.append(reinterpret_cast<char const *>(row), frames.row_bytes);
}

} // namespace

int main() {
    std::string path;
    while (std::getline(std::cin, path)) {
        std::ifstream file(path, std::ios::binary);
        std::vector<char> const bytes {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
        uform::file_t const view(reinterpret_cast<std::uint8_t const *>(bytes.data()), bytes.size());
        frames_t frames, counted;
        counted.only_count = true;
        uform::failure_t const failure = decode_clip({view}, uform::clip_pass_t::rows_k, {see, take, &frames});
        uform::failure_t const other = decode_clip({view}, uform::clip_pass_t::count_k, {see, take, &counted});
        std::printf("%s %zu %s %s\n", uform_status_name(failure.status), failure ? 0 : frames.count, failure.message,
                    failure.detail);
        if (!failure) std::fwrite(frames.all.data(), 1, frames.all.size(), stdout);
        std::printf("%s %zu %.9f\n", uform_status_name(other.status), counted.count, counted.seconds);
    }
    return 0;
}
