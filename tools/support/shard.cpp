/**
 *  @file shard.cpp
 *  @brief Headers of 512 bytes, each with a checksum; nothing that a header says is believed before it is compared
 *  with the archive's size.
 */
#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <optional>
#include <sys/stat.h>
#include <unistd.h>
#include <unordered_map>
#include <utility>

#include "support/error.hpp"
#include "support/files.hpp"
#include "support/interrupt.hpp"
#include "support/shard.hpp"

namespace uform::tools {

namespace {

constexpr std::uint64_t block_k = 512;
constexpr std::uint64_t extension_limit_k = 1 << 20; // of a long name or of pax records, which no path comes near

/** `bytes` from `offset` on, fewer at the file's end. */
std::string read_at(int descriptor, std::string const &path, std::uint64_t offset, std::size_t bytes) {
    std::string text(bytes, '\0');
    std::size_t done = 0;
    while (done < bytes) {
        ssize_t const count = ::pread(descriptor, text.data() + done, bytes - done, off_t(offset + done));
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) fail_at(path, 0, "cannot read it, {}; check the disk", system_reason());
        if (count == 0) break;
        done += std::size_t(count);
    }
    text.resize(done);
    return text;
}

/** A field up to its first NUL. */
std::string_view field(std::string_view header, std::size_t at, std::size_t width) noexcept {
    std::string_view const text = header.substr(at, width);
    return text.substr(0, text.find('\0'));
}

/** Digits of `base` between spaces and an end; none where there is anything else, or more than 63 bits hold. */
std::optional<std::uint64_t> number(std::string_view text, unsigned base) noexcept {
    std::uint64_t value = 0;
    std::size_t at = text.find_first_not_of(' ');
    if (at == text.npos) return std::uint64_t(0);
    for (; at < text.size() && text[at] >= '0' && text[at] < char('0' + base); ++at) {
        if (value > (std::uint64_t(INT64_MAX) - 9) / base) return std::nullopt;
        value = value * base + std::uint64_t(text[at] - '0');
    }
    bool const ended = text.find_first_not_of(' ', at) == text.npos;
    return ended ? std::optional(value) : std::nullopt;
}

/** Octal digits, or, where the first bit is set, GNU's big-endian number. */
std::optional<std::uint64_t> size_in(std::string_view header) noexcept {
    std::string_view const bytes = header.substr(124, 12);
    if (!(static_cast<unsigned char>(bytes[0]) & 0x80)) return number(field(header, 124, 12), 8);
    std::uint64_t value = static_cast<unsigned char>(bytes[0]) & 0x7f;
    for (char const byte : bytes.substr(1)) {
        if (value >> 55) return std::nullopt;
        value = value << 8 | static_cast<unsigned char>(byte);
    }
    return value;
}

bool checks_out(std::string_view header) noexcept {
    unsigned sum = 8 * ' '; // the checksum's own field counts as spaces
    for (std::size_t i = 0; i < block_k; ++i)
        if (i < 148 || i >= 156) sum += static_cast<unsigned char>(header[i]);
    return number(field(header, 148, 8), 8) == sum;
}

/** What extended headers say of the member that follows them. */
struct extended_t {
    std::string name;
    std::optional<std::uint64_t> bytes;
};

/** Walks the headers of one archive. */
class tar_walk_t {
  public:
    tar_walk_t(int descriptor, std::string const &path, std::uint64_t end)
        : descriptor_(descriptor), path_(path), end_(end) {}

    /** The next regular file; false at the archive's end. */
    bool next() {
        for (extended_t extended; read_header();) {
            char const type = header_[156];
            bool const has_content = type < '1' || type > '6';
            std::uint64_t const bytes = !has_content                           ? 0
                                        : extended.bytes && !is_extended(type) ? *extended.bytes
                                                                               : size();
            if (bytes > end_ - at_) refuse("says it has {} bytes, of which {} are there", bytes, end_ - at_);
            std::uint64_t const content = at_;
            std::uint64_t const padded = (bytes + block_k - 1) / block_k * block_k;
            if (padded > end_ - at_) refuse("is cut short within its padding");
            at_ += padded;
            if (is_extended(type)) {
                read_extended(type, content, bytes, extended);
                continue;
            }
            if (type == 'S')
                refuse("is sparse, which is not read; pack it with tar --hole-detection=raw or without -S");
            if (type == '\0' || type == '0' || type == '7') {
                name = extended.name.empty() ? own_name() : extended.name;
                offset = content, member_bytes = bytes;
                return true;
            }
            extended = {};
        }
        return false;
    }

    std::string name; // of the file found
    std::uint64_t offset = 0, member_bytes = 0;

  private:
    template <typename... arguments_>
    [[noreturn]] void refuse(fmt::format_string<arguments_...> format, arguments_ &&...arguments) const {
        fail_at(path_, 0, "its member {} at byte {} {}", on_one_line(own_name()), at_ - block_k,
                fmt::format(format, std::forward<arguments_>(arguments)...));
    }

    /** False at a block of zeros, or where the file ends between two members, as some writers leave it. */
    bool read_header() {
        if (at_ == end_) return false;
        header_ = read_at(descriptor_, path_, at_, block_k);
        if (header_.size() < block_k) fail_at(path_, 0, "is cut short within a header, at byte {}", at_);
        at_ += block_k;
        if (header_.find_first_not_of('\0') == header_.npos) return false;
        if (!checks_out(header_) || header_.compare(257, 5, "ustar") != 0)
            fail_at(path_, 0, "has no sound tar header at byte {}; it is damaged, or of another kind", at_ - block_k);
        return true;
    }

    std::uint64_t size() const {
        std::optional<std::uint64_t> const found = size_in(header_);
        if (!found) refuse("has a size that is no number");
        return *found;
    }

    std::string own_name() const {
        std::string name(field(header_, 0, 100));
        bool const posix = header_[262] == '\0'; // GNU's own headers keep times where the prefix would be
        std::string_view const prefix = posix ? field(header_, 345, 155) : std::string_view();
        return prefix.empty() ? name : std::string(prefix) + "/" + name;
    }

    static bool is_extended(char type) noexcept { return type == 'L' || type == 'K' || type == 'x' || type == 'g'; }

    void read_extended(char type, std::uint64_t content, std::uint64_t bytes, extended_t &extended) {
        if (bytes > extension_limit_k) refuse("is an extended header of {} bytes, beyond all use", bytes);
        if (type == 'K' || type == 'g') return;
        std::string const text = read_at(descriptor_, path_, content, std::size_t(bytes));
        if (type == 'L')
            extended.name = text.substr(0, text.find('\0'));
        else
            read_pax(text, extended);
    }

    /** Records "LENGTH KEY=VALUE\n", the length counting itself. */
    void read_pax(std::string_view text, extended_t &extended) const {
        while (!text.empty()) {
            std::size_t const space = text.find(' ');
            auto const length = space == text.npos ? std::nullopt : number(text.substr(0, space), 10);
            if (!length || *length < space + 3 || *length > text.size() || text[*length - 1] != '\n')
                refuse("has pax records that are damaged");
            std::string_view const record = text.substr(space + 1, std::size_t(*length) - space - 2);
            std::size_t const equals = record.find('=');
            if (equals == record.npos) refuse("has pax records that are damaged");
            std::string_view const key = record.substr(0, equals), value = record.substr(equals + 1);
            if (key.starts_with("GNU.sparse")) refuse("is sparse, which is not read; pack it without -S");
            if (key == "path") extended.name = value.substr(0, value.find('\0'));
            if (key == "size" && !(extended.bytes = number(value, 10))) refuse("has a size that is no number");
            text.remove_prefix(std::size_t(*length));
        }
    }

    int descriptor_;
    std::string const &path_;
    std::uint64_t end_;    // the archive's size
    std::uint64_t at_ = 0; // behind the last header, then behind its content
    std::string header_;   // [block_k]
};

int open_shard(std::string const &path, std::uint64_t &bytes) {
    check_path(path, path);
    int const descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) fail_at(path, 0, "cannot read it, {}; check the path and its permissions", system_reason());
    struct stat about = {};
    if (::fstat(descriptor, &about) == 0 && S_ISREG(about.st_mode))
        return bytes = std::uint64_t(about.st_size), descriptor;
    ::close(descriptor);
    fail_at(path, 0, "is no regular file; a shard is read in any order, so store it in one");
}

} // namespace

shard_member_t const *shard_entry_t::find(std::string_view extensions) const noexcept {
    while (true) {
        std::string_view const extension = extensions.substr(0, extensions.find(';'));
        for (shard_member_t const &member : members)
            if (member.extension == extension) return &member;
        if (extension.size() == extensions.size()) return nullptr;
        extensions.remove_prefix(extension.size() + 1);
    }
}

shard_t::shard_t(std::string path) : path_(std::move(path)) {
    std::uint64_t end = 0;
    descriptor_ = open_shard(path_, end);
    tar_walk_t walk(descriptor_, path_, end);
    std::unordered_map<std::string, std::size_t> known; // stem → entry
    try {
        for (std::size_t count = 0; walk.next(); ++count) {
            if (count % 65536 == 0) leave_if_interrupted();
            std::string_view name = walk.name;
            while (name.starts_with("./")) name.remove_prefix(2);
            std::size_t const slash = name.rfind('/'), first = slash == name.npos ? 0 : slash + 1;
            std::size_t const dot = name.find('.', first);
            if (dot == name.npos || dot == first || dot + 1 == name.size()) continue;
            std::string extension(name.substr(dot + 1)), stem(name.substr(0, dot));
            for (char &letter : extension)
                if (letter >= 'A' && letter <= 'Z') letter = char(letter - 'A' + 'a');
            auto const [place, is_new] = known.try_emplace(stem, entries_.size());
            if (is_new) entries_.push_back({stem, {}});
            shard_entry_t &entry = entries_[place->second];
            if (std::any_of(entry.members.begin(), entry.members.end(),
                            [&](shard_member_t const &other) { return other.extension == extension; }))
                fail_at(path_, 0, "has two members {}; an entry holds one of each kind", on_one_line(name));
            entry.members.push_back({std::move(extension), walk.offset, walk.member_bytes});
        }
    } catch (...) {
        ::close(descriptor_);
        throw;
    }
}

shard_t::shard_t(shard_t &&other) noexcept
    : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)),
      entries_(std::move(other.entries_)) {}

shard_t::~shard_t() {
    if (descriptor_ >= 0) ::close(descriptor_);
}

std::string shard_t::name_of(shard_entry_t const &entry, shard_member_t const &member) const {
    return fmt::format("{}/{}.{}", path_, entry.stem, member.extension);
}

std::string shard_t::read(shard_member_t const &member, std::size_t limit) const {
    std::size_t const wanted = std::size_t(std::min<std::uint64_t>(member.bytes, limit));
    std::string bytes = read_at(descriptor_, path_, member.offset, wanted);
    if (bytes.size() < wanted) fail_at(path_, 0, "has become shorter while it is read; start again");
    return bytes;
}

} // namespace uform::tools
