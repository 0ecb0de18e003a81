/**
 *  @file clips.cpp
 *  @brief The boxes and elements that tell of a clip's frames, read by hand.
 */
#include "clips.hpp"

#include <algorithm>
#include <cstdint>

#include "failure.hpp"
#include "pictures.hpp"

namespace uform_stub {
namespace {

/** A file, or a part of one, and the item that is to blame for it. */
struct part_t {
    std::string_view bytes;
    std::size_t item;

    [[noreturn]] void refuse(char const *message) const { fail(uform_status_malformed_k, message, {}, item); }
    std::uint64_t number(std::size_t at, std::size_t count) const {
        if (at > bytes.size() || count > bytes.size() - at) refuse("the file is cut short");
        std::uint64_t value = 0;
        for (std::size_t i = 0; i < count; ++i) value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
        return value;
    }
    part_t sub(std::size_t at, std::uint64_t length) const {
        if (at > bytes.size() || length > bytes.size() - at) refuse("the file is cut short");
        return {bytes.substr(at, length), item};
    }
};

/** Calls `body(name, content)` for each box. */
template <typename body_>
void for_each_box(part_t part, body_ const &body) {
    for (std::size_t at = 0; at < part.bytes.size();) {
        std::uint64_t length = part.number(at, 4);
        std::size_t const header = length == 1 ? 16 : 8;
        part_t const name = part.sub(at + 4, 4);
        if (length == 1) length = part.number(at + 8, 8);
        if (length == 0) length = part.bytes.size() - at;
        if (length < header) part.refuse("the file is damaged or cut short");
        (void)part.sub(at, length);
        body(name.bytes, part.sub(at + header, length - header));
        at += length;
    }
}

/** One track: of which kind it is, its sides and samples. */
struct track_t {
    clip_t clip;
    std::uint64_t number = 0;
    bool is_video = false;
};
/** Boxes that only hold others are looked into. */
void read_track(part_t part, track_t &track) {
    for_each_box(part, [&](std::string_view name, part_t content) {
        if (name == "mdia" || name == "minf" || name == "stbl") read_track(content, track);
        if (name == "tkhd") track.number = content.number(content.number(0, 1) ? 20 : 12, 4);
        if (name == "hdlr") track.is_video = content.sub(8, 4).bytes == "vide";
        if (name == "stsz") track.clip.frames = content.number(8, 4);
        if (name == "stsd") track.clip.width = content.number(40, 2), track.clip.height = content.number(42, 2);
    });
}
/** How many samples a fragment has of a track. */
std::size_t samples_of(part_t fragment, std::uint64_t track) {
    std::size_t samples = 0;
    for_each_box(fragment, [&](std::string_view name, part_t content) {
        if (name != "traf") return;
        bool is_ours = false;
        for_each_box(content, [&](std::string_view name, part_t content) {
            if (name == "tfhd") is_ours = content.number(4, 4) == track;
            if (name == "trun" && is_ours) samples += content.number(4, 4);
        });
    });
    return samples;
}
clip_t clip_of_mp4(part_t file) {
    track_t found;
    bool has_index = false;
    for_each_box(file, [&](std::string_view name, part_t content) {
        if (name == "moof") found.clip.frames += samples_of(content, found.number);
        if (name != "moov") return;
        has_index = true;
        for_each_box(content, [&](std::string_view name, part_t content) {
            track_t track;
            if (name == "trak") read_track(content, track);
            if (track.is_video && !found.is_video) found = track;
        });
    });
    if (!has_index) file.refuse("the file is damaged or cut short");
    if (!found.is_video) fail(uform_status_unknown_kind_k, "the file has no video in it", {}, file.item);
    return found.clip;
}

/** The number at `at`, whose first byte's zeros tell how many bytes it has; with or without the bit behind them. */
std::uint64_t variable(part_t part, std::size_t &at, bool keeps_mark) {
    std::uint64_t const first = part.number(at, 1);
    std::size_t bytes = 1;
    while (bytes < 9 && !(first & 0x100 >> bytes)) ++bytes;
    if (bytes == 9) part.refuse("the file is damaged or cut short");
    std::uint64_t const value = part.number(at, bytes), mask = (std::uint64_t(1) << 7 * bytes) - 1;
    at += bytes;
    return keeps_mark ? value : (value & mask) == mask ? UINT64_MAX : value & mask;
}
/** Looks into what holds tracks and blocks; of a length that is not told, as far as what it is in goes. */
void read_elements(part_t part, track_t &found, track_t &track) {
    for (std::size_t at = 0; at < part.bytes.size();) {
        std::uint64_t const name = variable(part, at, true), told = variable(part, at, false);
        part_t const content = part.sub(at, told == UINT64_MAX ? part.bytes.size() - at : told);
        std::size_t block = 0;
        switch (name) {
        case 0xae: // a track
            track = {};
            read_elements(content, found, track);
            if (track.is_video && !found.is_video) found = track;
            break;
        case 0x18538067: // segment, tracks, cluster, group, a track's video
        case 0x1654ae6b:
        case 0x1f43b675:
        case 0xa0:
        case 0xe0: read_elements(content, found, track); break;
        case 0xd7: track.number = content.number(0, content.bytes.size()); break;
        case 0x83: track.is_video = content.number(0, content.bytes.size()) == 1; break;
        case 0xb0: track.clip.width = content.number(0, content.bytes.size()); break;
        case 0xba: track.clip.height = content.number(0, content.bytes.size()); break;
        case 0xa1:
        case 0xa3: found.clip.frames += variable(content, block, false) == found.number; break;
        }
        at += content.bytes.size();
    }
}
clip_t clip_of_webm(part_t file) {
    track_t found, track;
    read_elements(file, found, track);
    if (!found.is_video) fail(uform_status_unknown_kind_k, "the file has no video in it", {}, file.item);
    return found.clip;
}

/** A file that ends within the signature counts as having it. */
bool starts_with(std::string_view file, std::size_t at, std::string_view signature) {
    return file.size() > at && file.substr(at, signature.size()) == signature.substr(0, file.size() - at);
}

} // namespace

clip_t read_clip(std::string_view file, uform_limits_t const &limits, std::size_t item) {
    part_t const whole {file, item};
    std::uint64_t const bytes = limits.max_file_bytes ? limits.max_file_bytes : std::uint64_t(1) << 32;
    std::uint64_t const pixels = limits.max_frame_pixels ? limits.max_frame_pixels : std::uint64_t(1) << 26;
    if (file.empty()) whole.refuse("the file is empty");
    if (file.size() > bytes) whole.refuse("the file is larger than limits.max_file_bytes");
    bool const is_webm = starts_with(file, 0, "\x1a\x45\xdf\xa3");
    bool is_mp4 = false;
    for (std::string_view const name : {"ftyp", "styp", "moov", "moof", "mdat", "free", "skip", "wide"})
        is_mp4 = is_mp4 || starts_with(file, 4, name);
    if (!is_webm && !is_mp4) fail(uform_status_unknown_kind_k, "the file is neither MP4 nor WebM", {}, item);
    clip_t const clip = is_webm ? clip_of_webm(whole) : clip_of_mp4(whole);
    if (clip.width * clip.height > pixels)
        whole.refuse("a frame of the clip has more pixels than limits.max_frame_pixels");
    if (!clip.frames || !clip.width || !clip.height) whole.refuse("the clip has no frames");
    return clip;
}

tubes_t tubes_of(clip_t const &clip, uform_video_shape_t const &shape) noexcept {
    std::size_t const layer = patches_of({clip.height, clip.width}, shape.patch_side, 128);
    std::size_t const samples = (clip.frames + shape.frame_stride - 1) / shape.frame_stride;
    std::size_t const layers = (samples + shape.tube_frames - 1) / shape.tube_frames, most = 1024 / layer;
    return {std::min(layers, most) * layer, layers > most};
}

} // namespace uform_stub
