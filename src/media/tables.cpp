/**
 *  @file tables.cpp
 *  @brief Whether the tables of an MP4 can be as long as they say, which FFmpeg believes before it reads them.
 *
 *  A table tells how many entries it has, and a demuxer makes room for them: four bytes of a hostile file ask for
 *  gigabytes. Entries have bytes, so a box holds as many as fit in it; those of a constant size, which have none there,
 *  are samples, so a file holds no more of them than bytes.
 */
#include <algorithm>
#include <string_view>

#include "boxes.hpp"

namespace uform {
namespace {

constexpr std::size_t depth_limit_k = 10; // FFmpeg's own

std::uint64_t number(file_t file, std::size_t at, std::size_t count) noexcept {
    std::uint64_t value = 0;
    for (std::size_t i = at; i < at + count; ++i) value = value << 8 | (i < file.size() ? file[i] : 0);
    return value;
}

/** How many entries a table tells of, and how many bytes are there for them. */
struct table_t {
    char const *name;
    std::size_t count_at, entries_at, entry_bytes;
};
constexpr table_t tables_k[] = {{"stco", 4, 8, 4},  {"co64", 4, 8, 8},    {"stss", 4, 8, 4},  {"stps", 4, 8, 4},
                                {"stsc", 4, 8, 12}, {"stts", 4, 8, 8},    {"ctts", 4, 8, 8},  {"elst", 4, 8, 12},
                                {"sbgp", 8, 12, 8}, {"tfra", 16, 20, 11}, {"dref", 4, 8, 12}, {"stsd", 4, 8, 16}};

bool holds(file_t content, std::uint64_t count, std::size_t entries_at, std::uint64_t entry_bits) noexcept {
    return entries_at <= content.size() && count * entry_bits <= (content.size() - entries_at) * std::uint64_t(8);
}
/** Sample sizes: one for all, or one each, of 32 bits or of as many as are told. */
bool are_sizes_held(file_t content, bool is_compact, std::size_t file_bytes) noexcept {
    std::uint64_t const size = is_compact ? 0 : number(content, 4, 4), count = number(content, 8, 4);
    if (size) return count <= file_bytes / size;
    return holds(content, count, 12, is_compact ? std::max<std::uint64_t>(number(content, 7, 1), 4) : 32);
}
/** Samples of a fragment, each with up to four fields. */
bool is_run_held(file_t content, std::size_t file_bytes) noexcept {
    std::uint64_t const flags = number(content, 1, 3), count = number(content, 4, 4);
    std::uint64_t fields = 0;
    for (std::uint64_t const flag : {0x100, 0x200, 0x400, 0x800}) fields += (flags & flag) != 0;
    std::size_t const entries_at = 8 + (flags & 1 ? 4 : 0) + (flags & 4 ? 4 : 0);
    return count <= file_bytes && holds(content, count, entries_at, fields * 32);
}

/** Bytes in front of the boxes within this one; SIZE_MAX where there are none. */
std::size_t children_at(std::string_view name) noexcept {
    for (std::string_view const parent :
         {"moov", "trak", "mdia", "minf", "stbl", "moof", "traf", "mvex", "edts", "udta", "dinf", "wave", "mfra",
          "sinf", "schi", "tref", "ilst", "free", "hoov"})
        if (name == parent) return 0;
    return name == "meta" ? 4 : name == "stsd" ? 8 : SIZE_MAX;
}
bool are_held(file_t boxes, std::size_t file_bytes, std::size_t depth) noexcept;

/** A sample's description has boxes as well, behind fields of its medium's: sound's of three versions, and a picture's. */
bool is_entry_held(file_t content, std::size_t file_bytes, std::size_t depth) noexcept {
    for (std::size_t const at : {8, 28, 44, 64, 78})
        if (at < content.size() && !are_held(content.subspan(at), file_bytes, depth + 1)) return false;
    return true;
}

bool is_held(std::string_view name, file_t content, std::size_t file_bytes, std::size_t depth) noexcept {
    if (name == "cmov") return false; // a moov that is compressed, of QuickTime 3: its tables are not to be seen
    for (table_t const &table : tables_k)
        if (name == table.name &&
            !holds(content, number(content, table.count_at, 4), table.entries_at, table.entry_bytes * 8))
            return false;
    if ((name == "stsz" || name == "stz2") && !are_sizes_held(content, name == "stz2", file_bytes)) return false;
    if (name == "trun" && !is_run_held(content, file_bytes)) return false;
    if (name == "stsd" && content.size() > 16 && !is_entry_held(content.subspan(16), file_bytes, depth)) return false;
    std::size_t const at = children_at(name);
    return at >= content.size() || are_held(content.subspan(at), file_bytes, depth + 1);
}
/** A box that goes on beyond what it is in ends with it, as FFmpeg reads it. */
bool are_held(file_t boxes, std::size_t file_bytes, std::size_t depth) noexcept {
    if (depth > depth_limit_k) return false;
    for (std::size_t at = 0; boxes.size() - at >= 8;) {
        std::uint64_t length = number(boxes, at, 4);
        std::size_t const header = length == 1 ? 16 : 8;
        if (length == 1) length = number(boxes, at + 8, 8);
        if (length == 0 || length > boxes.size() - at) length = boxes.size() - at;
        if (length < header) return true;
        std::string_view const name(reinterpret_cast<char const *>(boxes.data()) + at + 4, 4);
        if (!is_held(name, boxes.subspan(at + header, std::size_t(length) - header), file_bytes, depth)) return false;
        at += std::size_t(length);
    }
    return true;
}

} // namespace

bool are_tables_held(file_t file) noexcept { return are_held(file, file.size(), 0); }

} // namespace uform
