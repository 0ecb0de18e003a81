/**
 *  @file boxes_safety.cpp
 *  @brief Files whose parts are made to be read over and over, or are many: what looking at them costs is bounded by the
 *  file's bytes, and whoever wants no more of it is heard meanwhile.
 */
#include <string>

#include <gtest/gtest.h>

#include "media/boxes.hpp"
#include "media/container.hpp"

namespace uform::test {
namespace {

constexpr std::size_t entries_k = 1 << 20, interval_k = 1 << 16; // of work, from one question to the next

std::string number(std::size_t value) {
    std::string digits(4, '\0');
    for (std::size_t i = 0; i < 4; ++i) digits[i] = char(value >> (24 - 8 * i));
    return digits;
}
std::string box(std::string const &name, std::string const &content) {
    return number(8 + content.size()) + name + content;
}
/** Of entries that are all the same, behind fields and their number. */
std::string table(std::string const &name, std::string const &fields, std::size_t entries, std::string const &entry) {
    std::string content = fields + number(entries);
    for (std::size_t i = 0; i < entries; ++i) content += entry;
    return box(name, content);
}
/** A sample's description in which a box lies where FFmpeg's every way to read it leads to. */
std::string described(std::string const &within) {
    std::string const ways = box("junk", std::string(12, '\0')) + box("junk", std::string(8, '\0')) +
                             box("junk", std::string(12, '\0')) + box("junk", std::string(6, '\0'));
    return box("stsd", number(0) + number(1) + box("junk", std::string(8, '\0') + ways + within));
}

/** What a walk answers, of tables unless told, and how often it asked whether to stop; `stops` says so at once. */
struct walk_t {
    bool stops = false, is_held = false;
    std::size_t asked = 0;

    walk_t(std::string const &file, bool stops, bool (*walked)(file_t, stop_t) noexcept = are_tables_held)
        : stops(stops) {
        stop_t const stop {[](void *self) noexcept {
                               ++static_cast<walk_t *>(self)->asked;
                               return static_cast<walk_t *>(self)->stops;
                           },
                           this};
        is_held = walked({reinterpret_cast<std::uint8_t const *>(file.data()), file.size()}, stop);
    }
};

TEST(boxes_safety, entries_that_are_read_over_and_over_cost_no_more_than_the_file) {
    std::string file = table("sbgp", std::string(8, '\0'), entries_k, std::string(8, '\0'));
    for (std::size_t depth = 0; depth < 8; ++depth) file = described(file);
    walk_t const walk(file, false);
    EXPECT_FALSE(walk.is_held);
    EXPECT_LE(walk.asked, file.size() / interval_k + 1);
    walk_t const stopped(file, true);
    EXPECT_FALSE(stopped.is_held);
    EXPECT_EQ(stopped.asked, 1u);
}

TEST(boxes_safety, a_table_in_one_piece_hears_a_stop) {
    std::string const none(8, '\0'), chunks(number(1) + std::string(8, '\0'));
    for (std::string const &file :
         {table("sbgp", none, entries_k, none), table("ctts", number(0), entries_k, none),
          table("keys", number(0), entries_k, box("name", "")), box("meta", std::string(4 * entries_k, '\0')),
          box("trak", table("stsc", number(0), entries_k, chunks)), described(table("sbgp", none, entries_k, none))}) {
        SCOPED_TRACE(file.substr(4, 4));
        walk_t const walk(file, false), stopped(file, true);
        EXPECT_TRUE(walk.is_held);
        EXPECT_GE(walk.asked, entries_k / interval_k);
        EXPECT_FALSE(stopped.is_held);
        EXPECT_EQ(stopped.asked, 1u);
    }
}

TEST(boxes_safety, many_parts_hear_a_stop) {
    constexpr auto are_pages = [](file_t file, stop_t stop) noexcept {
        return are_pages_whole(file, file.size(), stop);
    };
    constexpr auto ends_whole = [](file_t file, stop_t stop) noexcept {
        return !is_cut_short(file, container_format_t::ogg_k, stop);
    };
    struct row_t {
        char const *what;
        std::string part; // whole, with a checksum where it has one
        bool (*walked)(file_t, stop_t) noexcept;
    };
    std::string const page("OggS\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x11\xa5\xa1\x9e\0", 27);
    for (auto const &[what, part, walked] :
         {row_t {"MP4", box("free", ""), are_boxes_whole}, row_t {"WebM", "\xec\x80", are_elements_whole},
          row_t {"Ogg", page, are_pages}, row_t {"the end of an Ogg", page, ends_whole}}) {
        SCOPED_TRACE(what);
        std::string file;
        for (std::size_t i = 0; i < entries_k; ++i) file += part;
        walk_t const walk(file, false, walked), stopped(file, true, walked);
        EXPECT_TRUE(walk.is_held);
        EXPECT_GE(walk.asked, entries_k / interval_k);
        EXPECT_FALSE(stopped.is_held);
        EXPECT_EQ(stopped.asked, 1u);
    }
}

TEST(boxes_safety, a_description_is_read_once_each_way_and_behind_a_palette) {
    constexpr std::size_t ways = 5;
    std::string const none(8, '\0'), too_many = box("stsz", number(0) + number(1) + number(0xffffffff));
    walk_t const walk(described(table("sbgp", none, entries_k, none)), false);
    EXPECT_LE(walk.asked, ways * (entries_k / interval_k) + 1);
    for (char const depth : {0, 8}) { // bits of a pixel: of eight there is a palette, here of one colour
        std::string const fields = std::string(75, '\0') + depth + std::string(18, '\0');
        std::string const file = box("stsd", number(0) + number(1) + box("junk", fields + too_many));
        EXPECT_EQ(walk_t(file, false).is_held, depth == 0);
    }
}

/** An MP4 of a track with a byte for each of its samples, all in one chunk. */
struct edited_t {
    std::size_t samples = 10000, edits = 1, duration = 1; // of a sample, in units of time
    std::size_t runs = 1;                                 // of samples, in the table of their durations
    std::string handlers = handler("soun"), before = "", description = "";

    static std::string handler(std::string const &kind) { return box("hdlr", std::string(8, '\0') + kind); }
    std::string file() const {
        std::string const zero = number(0), one = number(1), edit = number(samples) + zero + number(1 << 16);
        std::string const stts = table("stts", zero, runs, number(samples / runs) + number(duration));
        std::string const stsz = box("stsz", zero + one + number(samples));
        std::string const stsc = table("stsc", zero, 1, one + number(samples) + one);
        std::string const stco = table("stco", zero, 1, zero);
        std::string const tables = box("stbl", description + stts + stsz + stsc + stco);
        std::string const track = box("edts", table("elst", zero, edits, edit)) + box("mdia", handlers + tables);
        return box("mdat", std::string(samples, '\0')) + before + box("moov", box("trak", track));
    }
    bool is_held() const { return walk_t(file(), false).is_held; }
};

TEST(boxes_safety, edits_show_no_more_samples_than_a_file_may_have) {
    std::string const sound = edited_t::handler("soun"), picture = edited_t::handler("vide");
    EXPECT_TRUE((edited_t {.edits = 1, .handlers = picture}.is_held()));
    EXPECT_TRUE((edited_t {.edits = 3, .handlers = picture}.is_held()));
    EXPECT_FALSE((edited_t {.edits = 500, .handlers = picture}.is_held()));
    EXPECT_FALSE((edited_t {.edits = 500, .duration = 2}.is_held()));
    EXPECT_FALSE((edited_t {.edits = 500, .handlers = ""}.is_held()));
    EXPECT_FALSE((edited_t {.edits = 500, .handlers = sound + picture}.is_held()));
    EXPECT_FALSE((edited_t {.edits = 500, .handlers = "", .before = box("mdia", sound)}.is_held()));
    EXPECT_FALSE((edited_t {.edits = 500, .handlers = "", .description = described(box("mdia", sound))}.is_held()));
}

/** Sound of a byte a sample, as QuickTime's programs cut it. */
TEST(boxes_safety, plain_sound_is_listed_by_the_chunk) {
    EXPECT_TRUE((edited_t {.edits = 200}.is_held()));
    EXPECT_TRUE((edited_t {.edits = 200, .runs = 2}.is_held()));
    EXPECT_TRUE((edited_t {.edits = 200, .handlers = edited_t::handler("soun") + edited_t::handler("alis")}.is_held()));
    EXPECT_FALSE((edited_t {.edits = 20000}.is_held()));
}

} // namespace
} // namespace uform::test
