/**
 *  @file refused_decoding.hpp
 *  @brief Memory that runs out at every allocation of encoding one file: what is the same of every medium.
 *
 *  Includes watched_allocations.hpp, so include it in one unit of a program.
 */
#pragma once
#include <cctype>

#include "picture_fixture.hpp"
#include "watched_allocations.hpp"

namespace uform::test {

/** Whether a decoder may do without what it was refused, and answer as ever. */
enum class without_t { fails_k, may_answer_k };

/**
 *  Encodes the file with each allocation refused alone, then with all refused from it on: `out_of_memory` each time,
 *  nothing left behind, and the same answer afterwards.
 */
template <typename caller_, typename call_>
void refuse_every_allocation(caller_ &caller, void (*verb)(call_ *), std::string const &file, without_t without) {
    text_tape_t const tape({file});
    auto const call_once = [&](refusals_t refusals) {
        call_ call {};
        caller.outputs = {};
        caller.outputs.ask(call, caller.model, embeddings_k);
        call.executor = caller.executor, call.arena = caller.arena, call.outcome = &caller.outcome;
        call.files = tape.view(), call.count = 1;
        allocations.watch(refusals, [&] { verb(&call); });
        return caller.outcome.status;
    };
    std::size_t kept = 0;
    ASSERT_FALSE(file.empty());
    for (int warm = 0; warm < 3; ++warm) { // scratch grows once, and is merged once
        kept = allocations.live();
        ASSERT_EQ(call_once({}), uform_status_success_k) << caller.outcome.message << ": " << caller.outcome.detail;
    }
    EXPECT_EQ(allocations.live(), kept) << "decoding leaves memory behind";
    std::string const expected = bytes_of_rows(caller.outputs.embeddings);
    std::size_t refused = 0;
    for (bool const alone : {true, false})
        for (std::size_t number = 1;; ++number) {
            SCOPED_TRACE(testing::Message() << (alone ? "alone " : "all from ") << number);
            uform_status_t const status = call_once({number, alone ? number : SIZE_MAX});
            if (allocations.refused() == 0) break;
            if (status == uform_status_success_k && without == without_t::may_answer_k)
                EXPECT_TRUE(bytes_of_rows(caller.outputs.embeddings) == expected);
            else {
                EXPECT_EQ(status, uform_status_out_of_memory_k)
                    << caller.outcome.message << ": " << caller.outcome.detail;
                EXPECT_EQ(caller.outputs.embeddings.data, nullptr);
                ++refused;
            }
            EXPECT_EQ(allocations.live(), kept);
            ASSERT_EQ(call_once({}), uform_status_success_k);
            ASSERT_TRUE(bytes_of_rows(caller.outputs.embeddings) == expected);
            ASSERT_FALSE(testing::Test::HasFailure());
        }
    std::size_t const least = UFORM_TEST_OWNS_MALLOC; // a sanitizer keeps it, and what libraries ask of it, to itself
    EXPECT_GE(refused, least);
}

/** A file's name as part of a test's. */
inline std::string test_name_of(testing::TestParamInfo<char const *> const &info) {
    std::string name = info.param;
    for (char &letter : name)
        if (!std::isalnum(static_cast<unsigned char>(letter))) letter = '_';
    return name;
}

} // namespace uform::test
