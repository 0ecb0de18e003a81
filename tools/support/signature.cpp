/**
 *  @file signature.cpp
 *  @brief Magic numbers; whether what follows them is sound is for the decoders.
 */
#include <simdjson.h>

#include "support/signature.hpp"

namespace uform::tools {

namespace {

using namespace std::string_view_literals;

bool says(std::string_view head, std::size_t at, std::string_view magic) noexcept {
    return head.size() >= at + magic.size() && head.substr(at, magic.size()) == magic;
}

/** The first two bytes of a frame of MPEG audio, layer III: eleven bits set, and fields that are not reserved. */
bool begins_mp3_frame(std::string_view head) noexcept {
    if (head.size() < 4) return false;
    auto const byte = [&](std::size_t at) { return unsigned(static_cast<unsigned char>(head[at])); };
    bool const synchronized = byte(0) == 0xff && (byte(1) & 0xe0) == 0xe0;
    bool const third_layer = (byte(1) & 0x18) != 0x08 && (byte(1) & 0x06) == 0x02;
    return synchronized && third_layer && (byte(2) & 0xf0) != 0xf0 && (byte(2) & 0x0c) != 0x0c;
}

} // namespace

std::optional<uform_modality_t> modality_of(std::string_view head) noexcept {
    if (says(head, 0, "\xff\xd8\xff") || says(head, 0, "\x89PNG\r\n\x1a\n")) return uform_modality_image_k;
    if (says(head, 0, "RIFF") && says(head, 8, "WEBP")) return uform_modality_image_k;
    if ((says(head, 0, "RIFF") || says(head, 0, "RF64")) && says(head, 8, "WAVE")) return uform_modality_audio_k;
    if (says(head, 4, "ftypM4A")) return uform_modality_audio_k; // sound alone in a container of clips
    if (says(head, 4, "ftyp") || says(head, 4, "moov"sv) || says(head, 4, "moof"sv) ||
        says(head, 0, "\x1a\x45\xdf\xa3"))
        return uform_modality_video_k;
    if (says(head, 0, "fLaC") || says(head, 0, "OggS\0"sv) || begins_mp3_frame(head)) return uform_modality_audio_k;
    if (says(head, 0, "ID3") && head.size() > 3 && head[3] >= 2 && head[3] <= 4) return uform_modality_audio_k;
    return std::nullopt;
}

bool may_be(std::string_view head, uform_modality_t modality) noexcept {
    if (modality == uform_modality_text_k) return true;
    std::optional<uform_modality_t> const found = modality_of(head);
    bool const is_picture = found == uform_modality_image_k, is_wanted = modality == uform_modality_image_k;
    if (found) return is_picture == is_wanted; // clips have sound, and sound its own containers
    // All pictures have a signature; what is short enough to be read anyway is its verb's to tell.
    return !is_wanted || head.size() < signature_bytes_k;
}

bool is_tar(std::string_view head) noexcept { return says(head, 257, "ustar"); }

bool is_text(std::string_view bytes) noexcept {
    return bytes.find('\0') == bytes.npos && simdjson::validate_utf8(bytes.data(), bytes.size());
}

} // namespace uform::tools
