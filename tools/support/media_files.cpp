/**
 *  @file media_files.cpp
 *  @brief Paths, and references `OFFSET:BYTES:LENGTH:SHARD/MEMBER`, LENGTH being that of the shard's path.
 */
#include <algorithm>
#include <charconv>
#include <fcntl.h>
#include <new>
#include <unistd.h>

#include "support/error.hpp"
#include "support/media_files.hpp"
#include "support/signature.hpp"

namespace uform::tools {

namespace {

constexpr std::size_t file_limit_k = std::size_t(1) << 32; // as the engine's own, which would refuse more

struct reference_t {
    std::uint64_t offset = 0, bytes = 0, length = 0;
    std::string_view name;
};

/** Written by `reference_to` into an unpacked copy that nobody else can open, so it is not checked. */
reference_t reference_in(std::string_view text) {
    reference_t found;
    for (std::uint64_t *const number : {&found.offset, &found.bytes, &found.length}) {
        std::size_t const colon = text.find(':');
        std::from_chars(text.data(), text.data() + colon, *number);
        text.remove_prefix(colon + 1);
    }
    found.name = text;
    return found;
}

char const *refusal_of(uform_modality_t modality) noexcept {
    return modality == uform_modality_image_k   ? "is no picture, by its first bytes"
           : modality == uform_modality_video_k ? "is no clip but a picture, by its first bytes"
                                                : "is no recording but a picture, by its first bytes";
}

} // namespace

std::string reference_to(shard_t const &shard, shard_entry_t const &entry, shard_member_t const &member) {
    return fmt::format("{}:{}:{}:{}", member.offset, member.bytes, shard.path().size(), shard.name_of(entry, member));
}

media_files_t::media_files_t(std::string const &source)
    : folder_(std::filesystem::path(source).parent_path()), shards_(names_shards(source)) {}

std::string media_files_t::name_of(std::string_view value) const {
    return shards_ ? std::string(reference_in(value).name) : (folder_ / value).string();
}

void media_files_t::announce(std::string_view value) const noexcept {
    reference_t found;
    if (shards_) found = reference_in(value);
    std::string const path = shards_ ? std::string(found.name.substr(0, found.length)) : (folder_ / value).string();
    int const descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK); // a pipe would wait for its writer
    if (descriptor < 0) return;
    ::posix_fadvise(descriptor, off_t(found.offset), off_t(found.bytes), POSIX_FADV_WILLNEED); // no bytes: all of them
    ::close(descriptor);
}

std::string media_files_t::read(std::string_view value, uform_modality_t modality) const {
    if (!shards_) {
        std::string const path = name_of(value);
        check_path(path, path);
        if (std::error_code failed;
            std::filesystem::exists(path, failed) && !std::filesystem::is_regular_file(path, failed))
            fail_at(path, 0, "is no regular file"); // a pipe would wait for its writer
        if (!may_be(read_head(path, signature_bytes_k), modality)) fail_at(path, 0, "{}", refusal_of(modality));
        return read_file(path, file_limit_k);
    }
    reference_t const found = reference_in(value);
    if (found.bytes > file_limit_k)
        fail_at(found.name, 0, "holds more than {} bytes; such a file is not read", file_limit_k);
    std::string const shard(found.name.substr(0, found.length));
    std::size_t const head = std::size_t(std::min<std::uint64_t>(found.bytes, signature_bytes_k));
    if (!may_be(read_part(shard, found.offset, head), modality)) fail_at(found.name, 0, "{}", refusal_of(modality));
    try {
        std::string bytes = read_part(shard, found.offset, found.bytes);
        if (bytes.size() < found.bytes) fail_at(found.name, 0, "is not whole any more; its shard has changed");
        return bytes;
    } catch (std::bad_alloc const &) {
        fail_at(found.name, 0, "does not fit into memory");
    }
}

} // namespace uform::tools
