/**
 *  @file arithmetic_unit.cpp
 *  @brief A host's floating-point mode changes no bit of an answer, and is the host's again when a verb returns.
 */
#include <gtest/gtest.h>

#include <cfenv>
#include <cstring>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include "caller_fixture.hpp"
#include "checkpoint_fixture.hpp"

namespace {

using namespace uform;
using namespace uform::test;

model_options_t options() {
    model_options_t options;
    options.geometry = {128, 2, 96}, options.token_width = 32, options.decoder = true;
    return options;
}
std::vector<std::string> texts() {
    std::vector<std::string> texts;
    for (std::size_t i = 0; i < 40; ++i)
        texts.push_back(std::string(i * 7 % 96, char('a' + i % 26)) + std::to_string(i));
    return texts;
}

/** Everything a text gets, encoded and chosen from, as bytes. */
std::string answers(caller_t &caller, uform_model_t model, uform_completion_t completion) {
    text_tape_t const tape(texts()), choices(std::vector<std::string>(tape.count(), "yn?"));
    text_outputs_t outputs;
    uform_text_encode_t encode = outputs.ask(model, tape, all_k);
    EXPECT_TRUE(caller.make(uform_text_encode, encode, completion)) << caller.outcome.message;
    std::string bytes = outputs.bytes(all_k);
    uform_rows_tape_t probabilities {};
    uform_text_choose_t choose {};
    choose.model = model, choose.texts = tape.view(), choose.choices = choices.view(), choose.count = tape.count();
    choose.probabilities = &probabilities;
    EXPECT_TRUE(caller.make(uform_text_choose, choose, completion)) << caller.outcome.message;
    return bytes + bytes_of_rows(probabilities);
}

/** The host's modes: roundings everywhere, and what else MXCSR has on x86. */
struct mode_t {
    char const *name;
    void (*set)();
};
std::vector<mode_t> modes() {
    std::vector<mode_t> modes {{"upward", [] { std::fesetround(FE_UPWARD); }},
                               {"downward", [] { std::fesetround(FE_DOWNWARD); }},
                               {"toward zero", [] { std::fesetround(FE_TOWARDZERO); }}};
#if defined(__x86_64__)
    modes.push_back({"denormals are zeros", [] { _mm_setcsr(_mm_getcsr() | 0x8040); }});
    modes.push_back({"inexact results trap", [] { _mm_setcsr(_mm_getcsr() & ~0x1e80u); }}); // denormals may go on
#endif
    return modes;
}
unsigned control() {
#if defined(__x86_64__)
    return _mm_getcsr();
#else
    return unsigned(std::fegetround());
#endif
}

TEST(arithmetic, the_hosts_mode_changes_no_bit) {
    checkpoint_fixture_t const checkpoint(options());
    uform_model_t const model = checkpoint.load();
    std::fenv_t before;
    caller_t alone;
    std::string const expected = answers(alone, model, uform_completion_blocking_k);
    for (mode_t const &mode : modes())
        for (std::size_t threads : {0, 1, 2, 3})
            for (auto completion : {uform_completion_blocking_k, uform_completion_queued_k}) {
                SCOPED_TRACE(testing::Message() << mode.name << ", threads " << threads << ", queued " << completion);
                std::feholdexcept(&before); // no flag is raised yet, so that raising one shows
                mode.set();
                unsigned const host = control();
                bool same = true;
                {
                    caller_t caller(threads); // its threads inherit the mode
                    for (int repeat = 0; repeat < 3; ++repeat) same &= answers(caller, model, completion) == expected;
                }
                unsigned const after = control();
                std::fesetenv(&before);
                EXPECT_TRUE(same);
                EXPECT_EQ(after, host);
            }
    uform_model_free(model);
}

TEST(arithmetic, a_handlers_mode_stays_with_the_handler) {
    checkpoint_fixture_t const checkpoint(options());
    uform_model_t const model = checkpoint.load();
    caller_t caller(3), alone;
    std::string const expected = answers(alone, model, uform_completion_blocking_k);
    text_tape_t const tape(texts());
    text_outputs_t outputs;
    uform_text_encode_t call = outputs.ask(model, tape, all_k);
    call.progress.callback = [](std::size_t, std::size_t, void *) { return std::fesetround(FE_UPWARD) == 0; };
    EXPECT_TRUE(caller.make(uform_text_encode, call)) << caller.outcome.message;
    EXPECT_EQ(std::fegetround(), FE_TONEAREST);
    for (int repeat = 0; repeat < 3; ++repeat)
        EXPECT_TRUE(answers(caller, model, uform_completion_blocking_k) == expected);
    uform_model_free(model);
}

} // namespace
