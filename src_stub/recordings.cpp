/**
 *  @file recordings.cpp
 *  @brief A WAV's chunks, read by hand, and the first bytes of other containers.
 */
#include "recordings.hpp"

#include <algorithm>
#include <initializer_list>

#include "failure.hpp"

namespace uform_stub {
namespace {

[[noreturn]] void refuse_file(std::size_t item, char const *message) {
    fail(uform_status_malformed_k, message, {}, item);
}

/** A little-endian number, which must be there. */
std::size_t number(std::string_view file, std::size_t at, std::size_t count, std::size_t item) {
    if (at > file.size() || count > file.size() - at) refuse_file(item, "the file is damaged or cut short");
    std::size_t value = 0;
    for (std::size_t i = count; i-- > 0;) value = value << 8 | static_cast<unsigned char>(file[at + i]);
    return value;
}

/** Chunks from the first up to the data; what is told beyond the end of the file is not there. */
length_t length_of_wav(std::string_view file, std::size_t item) {
    length_t length {0, 0};
    std::size_t frame = 0;
    for (std::size_t at = 12;;) {
        std::size_t const bytes = number(file, at + 4, 4, item);
        std::string_view const kind = file.substr(at, 4);
        at += 8;
        if (kind == "data") {
            if (!frame || !length.sample_rate || length.sample_rate > 1 << 20)
                refuse_file(item, "the file is damaged or cut short");
            length.samples = std::min(bytes, file.size() - at) / frame;
            return length;
        }
        if (kind == "fmt ") {
            length.sample_rate = number(file, at + 4, 4, item);
            frame = number(file, at + 2, 2, item) ? number(file, at + 12, 2, item) : 0;
        }
        at += bytes + bytes % 2;
    }
}

/** A file that ends within the signature counts as having it. */
bool starts_with(std::string_view file, std::size_t at, std::string_view signature) {
    return file.size() <= at || file.substr(at, signature.size()) == signature.substr(0, file.size() - at);
}

} // namespace

length_t read_length(std::string_view file, uform_limits_t const &limits, std::size_t item) {
    using namespace std::string_view_literals;
    std::uint64_t const bytes = limits.max_file_bytes ? limits.max_file_bytes : std::uint64_t(1) << 32;
    if (file.empty()) refuse_file(item, "the file is empty");
    if (file.size() > bytes) refuse_file(item, "the file is larger than limits.max_file_bytes");
    if (starts_with(file, 0, "RIFF") && starts_with(file, 8, "WAVE")) return length_of_wav(file, item);
    for (std::string_view const signature : {"OggS"sv, "\x1a\x45\xdf\xa3"sv, "fLaC"sv, "ID3"sv}) {
        if (!starts_with(file, 0, signature)) continue;
        if (file.size() <= signature.size()) refuse_file(item, "the file is damaged or cut short");
        return {1, 1};
    }
    if (file.size() > 4 && starts_with(file, 4, "ftyp")) return {1, 1};
    fail(uform_status_unknown_kind_k, "the file is neither WAV nor FLAC nor MP3 nor Ogg nor MP4 nor WebM", {}, item);
}

std::size_t chunks_of(length_t length, uform_audio_shape_t const &shape) noexcept {
    std::size_t const rest = length.samples % length.sample_rate * shape.sample_rate;
    std::size_t const samples =
        length.samples / length.sample_rate * shape.sample_rate + (rest + length.sample_rate - 1) / length.sample_rate;
    return (samples + shape.chunk_samples - 1) / shape.chunk_samples;
}

} // namespace uform_stub
