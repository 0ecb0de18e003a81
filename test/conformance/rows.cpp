/**
 *  @file rows.cpp
 *  @brief Every row of the suite's tables by name, held to `rows.txt`, which the bindings read: a new row fails here until
 *  it is listed, and there until it is replayed.
 *
 *  A line of the list is a test, a row's name, how often the test had that name before, its status, a word of the
 *  message, the item at fault, and "file" where the row is one, all between tabs. UFORM_CONFORMANCE_WRITE names a folder
 *  to write the list into, with the file of each row that is one, under the number of its line. Tests that did not run
 *  are not judged: a build without a codec lacks some.
 */
#include <algorithm>
#include <map>
#include <set>

#include "conformance.hpp"

namespace conformance {
namespace {

struct told_t {
    std::vector<std::string> lines;
    std::vector<std::string> files; // as many as lines; empty where a row has none
    std::vector<bool> has_file;
    std::map<std::string, int> before; // by test and name
    std::set<std::string> tests;
};
told_t &told_rows() {
    static told_t rows;
    return rows;
}
bool writes() { return std::getenv("UFORM_CONFORMANCE_WRITE") != nullptr; }

std::string test_name() {
    testing::TestInfo const *test = testing::UnitTest::GetInstance()->current_test_info();
    return std::string(test->test_suite_name()) + "." + test->name();
}

/** After all tests: what they told, against the list. */
class listed_t : public testing::Environment {
    static void write() {
        std::string const folder = std::getenv("UFORM_CONFORMANCE_WRITE");
        told_t const &told = told_rows();
        std::ofstream list(folder + "/rows.txt");
        for (std::size_t i = 0; i < told.lines.size(); ++i) {
            list << told.lines[i] << '\n';
            if (told.has_file[i]) write_file(folder + "/" + std::to_string(i + 1), told.files[i]);
        }
        EXPECT_TRUE(list.flush()) << folder;
    }

  public:
    void TearDown() override {
        if (writes()) return write();
        told_t const &told = told_rows();
        std::ifstream list(UFORM_CONFORMANCE_ROWS);
        std::vector<std::string> expected;
        for (std::string line; std::getline(list, line);)
            if (told.tests.count(line.substr(0, line.find('\t')))) expected.push_back(line);
        constexpr char const *remedy =
            "write the list anew with UFORM_CONFORMANCE_WRITE, then replay it in the bindings";
        EXPECT_EQ(told.lines.size(), expected.size()) << remedy;
        auto const differ = std::mismatch(told.lines.begin(), told.lines.end(), expected.begin(), expected.end());
        if (differ.first != told.lines.end() && differ.second != expected.end()) {
            EXPECT_EQ(*differ.first, *differ.second) << remedy;
        }
    }
};
testing::Environment *const listed = testing::AddGlobalTestEnvironment(new listed_t);

} // namespace

void tell_row(std::string const &what, uform_status_t status, std::string const &word, std::size_t item,
              std::string const *file) {
    told_t &told = told_rows();
    std::string const test = test_name();
    int const before = told.before[test + '\t' + what]++;
    told.tests.insert(test);
    told.lines.push_back(test + '\t' + what + '\t' + std::to_string(before) + '\t' + uform_status_name(status) + '\t' +
                         word + '\t' + (item == SIZE_MAX ? "" : std::to_string(item)) + '\t' + (file ? "file" : ""));
    told.has_file.push_back(file != nullptr);
    told.files.push_back(file && writes() ? *file : "");
}

} // namespace conformance
