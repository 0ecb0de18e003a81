/**
 *  @file tables.cpp
 *  @brief Whether the tables of an MP4 can be as long as they say, which FFmpeg believes before it reads them.
 *
 *  A table tells how many entries it has, and a demuxer makes room for them: four bytes of a hostile file ask for
 *  gigabytes. Entries have bytes, so a box holds as many as fit in it. Those that have none there are samples, told by
 *  one size for all or by counts. A byte is at most two samples, as of QuickTime's oldest sound, and two tables tell of
 *  each: so all of them together tell of no more than four times as many as the file has bytes. A track's edits may each
 *  show all of its samples, and FFmpeg lists them anew for each, so these count among them.
 *
 *  FFmpeg reads a box wherever it meets it, so this walks what FFmpeg would walk, as FFmpeg would. A file can be made to
 *  be read over and over on the way, so no more boxes and entries are looked at, taken together, than it has bytes. Each
 *  takes eight at least, and a name that a "meta" is searched for takes four: that is enough for every byte to be read
 *  four times, where honest files have none but those of samples' descriptions read more than once.
 */
#include <algorithm>
#include <string_view>

#include "boxes.hpp"
#include "bytes.hpp"

namespace uform {
namespace {

constexpr std::size_t depth_limit_k = 10; // FFmpeg's own

std::string_view name_at(file_t file, std::size_t at) noexcept {
    return {reinterpret_cast<char const *>(file.data()) + at, 4};
}

/** How many entries a table tells of, and how many bytes are there for them. */
struct table_t {
    std::string_view name;
    std::size_t count_at, entries_at, entry_bytes;
};
constexpr table_t tables_k[] = {{"stco", 4, 8, 4},    {"co64", 4, 8, 8},  {"stss", 4, 8, 4}, {"stps", 4, 8, 4},
                                {"stsc", 4, 8, 12},   {"stts", 4, 8, 8},  {"ctts", 4, 8, 8}, {"elst", 4, 8, 12},
                                {"tfra", 16, 20, 11}, {"dref", 4, 8, 12}, {"stsd", 4, 8, 16}};

bool holds(file_t content, std::uint64_t count, std::size_t entries_at, std::uint64_t entry_bits) noexcept {
    return entries_at <= content.size() && count * entry_bits <= (content.size() - entries_at) * std::uint64_t(8);
}

/** Descriptions of groups, of which FFmpeg reads those of one kind alone: of a byte at least. */
bool are_groups_held(file_t content) noexcept {
    std::uint64_t const version = number(content, 0, 1);
    std::size_t const count_at = 8 + (version >= 1 ? 4 : 0) + (version >= 2 ? 4 : 0);
    return number(content, 4, 4) != 0x73796e63 || holds(content, number(content, count_at, 4), count_at + 4, 8); // sync
}

/** Bytes in front of the boxes within one of this name; SIZE_MAX where there are none. */
std::size_t children_at(std::string_view name) noexcept {
    for (std::string_view const parent :
         {"moov", "trak", "mdia", "minf", "stbl", "moof", "traf", "mvex", "edts", "udta", "dinf", "wave", "mfra",
          "sinf", "schi", "tref", "ilst", "free", "hoov"})
        if (name == parent) return 0;
    return name == "stsd" ? 8 : SIZE_MAX;
}

/** Bytes of the colours that lie in front of a picture's boxes where it has few, and says that they are there; or 0. */
std::size_t palette_bytes(file_t entry) noexcept {
    std::uint64_t const depth = number(entry, 74, 2) & 31, first = number(entry, 78, 4), last = number(entry, 84, 2);
    if ((depth != 1 && depth != 2 && depth != 4 && depth != 8) || number(entry, 76, 2)) return 0;
    return 8 + (first <= last && last <= 255 ? (last - first + 1) * 8 : 0);
}

/** What the boxes of a track tell of it. */
struct track_t {
    std::size_t depth = 0; // of the boxes within; 0 where there is no track
    file_t chunk_samples;  // how many samples its chunks have
    std::uint64_t chunks = 0, edits = 0;
    bool is_sound = false;                 // by its own handler
    bool is_other = false, is_odd = false; // by any; of samples that last longer than one unit of time

    /** As many samples as FFmpeg lists: of sound, where each lasts one unit, 160 of a chunk at once at the least. */
    std::uint64_t listed(std::uint64_t samples) const noexcept {
        return is_sound && !is_other && !is_odd ? samples / 160 + chunks : samples;
    }
};

class tables_t {
    std::uint64_t samples_left_; // that may still be told of without any bytes where they are
    std::uint64_t work_left_;    // boxes and entries that may still be looked at
    steps_t steps_;
    track_t track_; // that is walked

  public:
    tables_t(file_t file, stop_t stop) noexcept
        : samples_left_(4 * std::uint64_t(file.size())), work_left_(file.size()), steps_(stop) {}

    /** A box that goes on beyond what it is in ends with it, as FFmpeg reads it; an entry of a table may not. */
    bool are_held(file_t boxes, std::string_view parent, std::size_t depth) noexcept {
        if (depth > depth_limit_k) return false;
        for (std::size_t at = 0; boxes.size() - at >= 8;) {
            if (!take_work()) return false;
            std::uint64_t length = number(boxes, at, 4);
            std::size_t const header = length == 1 ? 16 : 8;
            if (length == 1) length = number(boxes, at + 8, 8);
            if (parent == "stsd" && length > boxes.size() - at) return false;
            if (length == 0 || length > boxes.size() - at) length = boxes.size() - at;
            if (length < header) return true;
            file_t const content = boxes.subspan(at + header, std::size_t(length) - header);
            std::string_view const name = name_at(boxes, at + 4);
            if (name == "hdlr") hear_handler(content, parent == "mdia" && depth == track_.depth + 1);
            if (parent == "stsd" && !is_entry_held(content, depth)) return false;
            if (!is_held(name, content, depth)) return false;
            at += std::size_t(length);
        }
        return true;
    }

  private:
    /** One more box or entry. */
    bool take_work() noexcept {
        if (work_left_ == 0 || steps_.stopped()) return false;
        --work_left_;
        return true;
    }
    bool take_samples(std::uint64_t times, std::uint64_t samples) noexcept {
        return samples == 0 || (times <= samples_left_ / samples && take_samples(times * samples));
    }
    bool take_samples(std::uint64_t count) noexcept {
        if (count > samples_left_) return false;
        samples_left_ -= count;
        return true;
    }
    /** Counts of four bytes, each of them the first of an entry of eight. */
    bool take_counts(file_t content, std::size_t count_at) noexcept {
        std::uint64_t const count = number(content, count_at, 4);
        if (!holds(content, count, count_at + 4, 64)) return false;
        for (std::size_t i = 0; i < count; ++i)
            if (!take_work() || !take_samples(number(content, count_at + 4 + i * 8, 4))) return false;
        return true;
    }
    /** Durations of samples, each of four bytes and the last of an entry of eight. */
    bool take_durations(file_t content) noexcept {
        std::uint64_t const count = number(content, 4, 4);
        for (std::size_t i = 0; i < count; ++i) {
            if (!take_work()) return false;
            track_.is_odd |= number(content, 12 + i * 8, 4) != 1;
        }
        return true;
    }
    /** Names of what a file's metadata says, each as long as it tells, itself included. */
    bool are_keys_held(file_t content) noexcept {
        std::uint64_t const count = number(content, 4, 4);
        if (!holds(content, count, 8, 64)) return false;
        std::size_t at = 8;
        for (std::uint64_t i = 0; i < count; ++i) {
            std::uint64_t const length = number(content, at, 4);
            if (!take_work() || length < 8 || at > content.size() || length > content.size() - at) return false;
            at += std::size_t(length);
        }
        return true;
    }
    /** Sample sizes: one for all, or one each, of 32 bits or of as many as are told. */
    bool are_sizes_held(file_t content, bool is_compact) noexcept {
        std::uint64_t const size = is_compact ? 0 : number(content, 4, 4), count = number(content, 8, 4);
        if (size) return take_samples(count);
        return holds(content, count, 12, is_compact ? std::max<std::uint64_t>(number(content, 7, 1), 4) : 32);
    }
    /** Samples of a fragment, each with up to four fields. */
    bool is_run_held(file_t content) noexcept {
        std::uint64_t const flags = number(content, 1, 3), count = number(content, 4, 4);
        std::uint64_t fields = 0;
        for (std::uint64_t const flag : {0x100, 0x200, 0x400, 0x800}) fields += (flags & flag) != 0;
        std::size_t const entries_at = 8 + (flags & 1 ? 4 : 0) + (flags & 4 ? 4 : 0);
        return fields ? holds(content, count, entries_at, fields * 32) : take_samples(count);
    }
    /** Samples of all chunks: of those from one entry's first to the next one's, or to the last, as many as it says. */
    bool are_chunks_held() noexcept {
        file_t const table = track_.chunk_samples;
        std::uint64_t const count = number(table, 4, 4);
        std::uint64_t sum = 0;
        for (std::size_t i = 0; i < count; ++i) {
            if (!take_work()) return false;
            std::size_t const at = 8 + i * 12;
            std::uint64_t const first = number(table, at, 4), samples = number(table, at + 4, 4);
            std::uint64_t const end = i + 1 < count ? number(table, at + 12, 4) : track_.chunks + 1;
            std::uint64_t const chunks = end > first ? end - first : 0;
            if (!take_samples(chunks, samples)) return false;
            sum += chunks * samples;
        }
        return track_.edits < 2 || take_samples(track_.edits - 1, track_.listed(sum));
    }
    /** A track's tables, which all lie in it: FFmpeg would take one that lies behind it for its too. */
    bool is_track_held(file_t content, std::size_t depth) noexcept {
        if (track_.depth) return false;
        track_ = {}, track_.depth = depth + 1; // nor is one that lies before it
        bool const held = are_held(content, "trak", depth + 1) && are_chunks_held();
        track_.depth = 0;
        return held;
    }
    /** What a track is of: to FFmpeg any handler within it tells, and its own, which is always read, is none of those
     *  that only one way to read a description leads to. */
    void hear_handler(file_t content, bool is_own) noexcept {
        std::string_view const kind = content.size() < 12 ? std::string_view() : name_at(content, 8);
        track_.is_sound |= is_own && kind == "soun";
        track_.is_other |= kind == "vide" || kind == "subp" || kind == "clcp";
    }

    /** A sample's description has boxes as well, behind fields of its medium's: sound's of three versions, and a picture's
     *  with its palette. */
    bool is_entry_held(file_t entry, std::size_t depth) noexcept {
        std::size_t const palette = palette_bytes(entry);
        for (std::size_t const at : {std::size_t(8), std::size_t(28), std::size_t(44), std::size_t(64), std::size_t(78),
                                     palette ? 78 + palette : SIZE_MAX})
            if (at < entry.size() && !are_held(entry.subspan(at), "", depth)) return false; // as deep as FFmpeg counts
        return true;
    }

    bool is_table_held(std::string_view name, file_t content) noexcept {
        if (name == "stsz" || name == "stz2") return are_sizes_held(content, name == "stz2");
        if (name == "trun") return is_run_held(content);
        if (name == "keys") return are_keys_held(content);
        if (name == "sgpd") return are_groups_held(content);
        if (name == "sbgp") return take_counts(content, number(content, 0, 1) == 1 ? 12 : 8);
        for (table_t const &table : tables_k)
            if (name == table.name &&
                !holds(content, number(content, table.count_at, 4), table.entries_at, table.entry_bytes * 8))
                return false;
        if (name == "ctts") return take_counts(content, 4);
        if (name == "elst") track_.edits += number(content, 4, 4);
        if (name == "stts" && !take_durations(content)) return false;
        bool const is_offsets = name == "stco" || name == "co64";
        if (name != "stsc" && !is_offsets) return true;
        if (!track_.depth || (!is_offsets && track_.chunk_samples.size())) return false;
        if (is_offsets)
            track_.chunks = std::max(track_.chunks, number(content, 4, 4));
        else
            track_.chunk_samples = content;
        return true;
    }
    /** The boxes within a "meta", of two layouts: "hdlr" is the first of them, and without it there are none. */
    bool is_meta_held(file_t content, std::size_t depth) noexcept {
        for (std::size_t at = 4; at + 4 <= content.size(); at += 4) {
            if (!take_work()) return false;
            if (name_at(content, at) == "hdlr") return are_held(content.subspan(at - 4), "meta", depth + 1);
        }
        return true;
    }
    bool is_held(std::string_view name, file_t content, std::size_t depth) noexcept {
        if (name == "cmov") return false; // a moov that is compressed, of QuickTime 3: its tables are not to be seen
        if (name == "trak") return is_track_held(content, depth);
        if (!is_table_held(name, content)) return false;
        if (name == "meta") return is_meta_held(content, depth);
        std::size_t const at = children_at(name);
        return at >= content.size() || are_held(content.subspan(at), name, depth + 1);
    }
};

} // namespace

bool are_tables_held(file_t file, stop_t stop) noexcept { return tables_t(file, stop).are_held(file, "", 0); }

} // namespace uform
