/**
 *  @file status_unit.cpp
 *  @brief Details of failures: UTF-8 stays, what is none becomes question marks, the capacity cuts between characters.
 */
#include <gtest/gtest.h>

#include <string>

#include <uform/utilities/status.hpp>

namespace {

using namespace uform;

std::string detail_of(std::string const &text) { return fail(uform_status_io_k, "message", "%s", text.c_str()).detail; }

TEST(status_unit, utf8_stays) {
    for (char const *text : {"", "plain", "/tmp/\xc3\xa9t\xc3\xa9", "\xe6\x97\xa5\xe6\x9c\xac", "\xf0\x9f\x98\x80",
                             "\xed\x9f\xbf\xee\x80\x80\xf4\x8f\xbf\xbf"})
        EXPECT_EQ(detail_of(text), text);
}

TEST(status_unit, other_bytes_are_shown_as_question_marks) {
    EXPECT_EQ(detail_of("/tmp/\xff\xfe.txt"), "/tmp/??.txt");
    EXPECT_EQ(detail_of("\x80"), "?");
    EXPECT_EQ(detail_of("\xc3"), "?") << "cut short by the end";
    EXPECT_EQ(detail_of("\xe6\x97z"), "??z");
    EXPECT_EQ(detail_of("\xc0\xaf"), "??") << "an overlong slash";
    EXPECT_EQ(detail_of("\xe0\x80\xaf"), "???");
    EXPECT_EQ(detail_of("\xed\xa0\x80"), "???") << "a surrogate";
    EXPECT_EQ(detail_of("\xf4\x90\x80\x80"), "????") << "beyond U+10FFFF";
}

TEST(status_unit, the_capacity_cuts_between_characters) {
    std::size_t const room = failure_t::detail_capacity_k - 1;
    EXPECT_EQ(detail_of(std::string(1000, 'a')), std::string(room, 'a'));
    EXPECT_EQ(detail_of(std::string(room - 1, 'a') + "\xc3\xa9"), std::string(room - 1, 'a'));
    EXPECT_EQ(detail_of(std::string(room - 2, 'a') + "\xf0\x9f\x98\x80"), std::string(room - 2, 'a'));
}

} // namespace
