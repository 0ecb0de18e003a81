/**
 *  @file fork_unit.cpp
 *  @brief A forked child gets right answers or a clear refusal, whatever the parent was in the middle of, and never hangs.
 *
 *  Children answer by their exit status: the number of the first expectation that failed, or zero. An alarm ends one that
 *  hangs.
 */
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <uform/uform.h>

namespace {

char const text_k[] = "Wer liest, hat mehr vom Leben.";

struct handles_t {
    uform_outcome_t outcome {};
    uform_model_t model = nullptr;
    uform_executor_t executor = nullptr;
    uform_arena_t arena = nullptr;

    handles_t() {
        std::string const path = UFORM_SOURCE_DIR "/models/nano-text.safetensors";
        uform_model_load_ram_t load {};
        load.model = &model, load.outcome = &outcome, load.path = {path.data(), path.size()};
        uform_model_load_ram(&load);
        EXPECT_EQ(outcome.status, uform_status_success_k) << outcome.message;
        executor = make_executor(outcome);
        uform_arena_init_t init {};
        init.arena = &arena, init.outcome = &outcome;
        uform_arena_init(&init);
    }
    ~handles_t() { free_all(); }
    void free_all() {
        uform_arena_free(arena), uform_executor_free(executor), uform_model_free(model);
        arena = nullptr, executor = nullptr, model = nullptr;
    }
    static uform_executor_t make_executor(uform_outcome_t &outcome) {
        uform_executor_t executor = nullptr;
        uform_executor_for_ram_t make {};
        make.executor = &executor, make.outcome = &outcome, make.threads = 2;
        uform_executor_for_ram(&make);
        return executor;
    }
};

/** One embedding as bytes; empty where the call failed. */
std::string encode(handles_t &handles, uform_executor_t executor) {
    std::size_t const offsets[] = {0, sizeof(text_k) - 1};
    uform_rows_t rows {};
    uform_text_encode_t call {};
    call.model = handles.model, call.executor = executor, call.outcome = &handles.outcome;
    call.texts = {text_k, offsets, uform_scalar_u8_k}, call.count = 1, call.embeddings = &rows;
    call.arena = handles.arena;
    uform_text_encode(&call);
    if (handles.outcome.status != uform_status_success_k) return {};
    return {static_cast<char const *>(rows.data), rows.columns * sizeof(float)};
}

/** Runs `body` in a child and answers its exit status: -1 where a signal ended it, such as the alarm. */
template <typename body_>
int in_child(body_ const &body) {
    pid_t const child = ::fork();
    if (child == 0) {
        ::alarm(60);
        ::_exit(body());
    }
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(fork, child_gets_the_same_bits_or_a_refusal) {
    handles_t handles;
    std::string const expected = encode(handles, handles.executor);
    ASSERT_FALSE(expected.empty());
    int const failed = in_child([&] {
        if (encode(handles, nullptr) != expected) return 1;
        if (!encode(handles, handles.executor).empty()) return 2;
        if (handles.outcome.status != uform_status_unsupported_k) return 3;
        if (!std::strstr(handles.outcome.message, "executor was made before this process was forked")) return 4;
        uform_executor_drain_t drain {};
        drain.executor = handles.executor, drain.outcome = &handles.outcome;
        uform_executor_drain(&drain);
        if (handles.outcome.status != uform_status_unsupported_k) return 5;
        uform_executor_t const own = handles_t::make_executor(handles.outcome);
        if (encode(handles, own) != expected) return 6;
        uform_executor_free(own);
        handles.free_all();
        return 0;
    });
    EXPECT_EQ(failed, 0);
    EXPECT_EQ(encode(handles, handles.executor), expected);
}

/** A queued call that stands still, in its progress handler, until it is let go. */
struct stopped_call_t {
    std::atomic<bool> entered {false}, released {false};

    static bool stand(std::size_t, std::size_t, void *self) {
        stopped_call_t &call = *static_cast<stopped_call_t *>(self);
        call.entered = true, call.entered.notify_all();
        call.released.wait(false);
        return true;
    }
};

TEST(fork, child_waits_for_no_call_of_the_parent) {
    handles_t handles;
    stopped_call_t stopped;
    std::size_t const offsets[] = {0, sizeof(text_k) - 1};
    uform_outcome_t queued {};
    uform_rows_t rows {};
    uform_text_encode_t call {};
    call.model = handles.model, call.executor = handles.executor, call.outcome = &queued;
    call.completion = uform_completion_queued_k, call.texts = {text_k, offsets, uform_scalar_u8_k}, call.count = 1;
    call.embeddings = &rows, call.arena = handles.arena;
    call.progress = {stopped_call_t::stand, &stopped};
    uform_text_encode(&call);
    stopped.entered.wait(false);
    int const failed = in_child([&] {
        if (uform_outcome_status(&queued) != uform_status_unsupported_k) return 1;
        if (uform_outcome_wait(&queued) != uform_status_unsupported_k) return 2;
        if (!std::strstr(queued.message, "stayed in the process that forked this one")) return 3;
        if (!encode(handles, nullptr).empty()) return 4; // the arena is that call's
        if (handles.outcome.status != uform_status_unsupported_k) return 5;
        if (!std::strstr(handles.outcome.message, "arena served a call")) return 6;
        handles.free_all(); // the model's user stayed behind too
        return 0;
    });
    EXPECT_EQ(failed, 0);
    EXPECT_EQ(uform_outcome_status(&queued), uform_status_deferred_k);
    stopped.released = true, stopped.released.notify_all();
    EXPECT_EQ(uform_outcome_wait(&queued), uform_status_success_k);
    EXPECT_EQ(queued.item, SIZE_MAX);
}

TEST(fork, a_handler_that_forks_ends_the_call_in_the_child) {
    handles_t handles;
    pid_t child = -1;
    std::string const texts(600 * 64, 'u');
    std::vector<std::size_t> offsets;
    for (std::size_t i = 0; i <= 600; ++i) offsets.push_back(i * 64);
    uform_rows_t rows {};
    uform_text_encode_t call {};
    std::thread::id const caller = std::this_thread::get_id();
    struct once_t {
        pid_t *child;
        std::thread::id caller;
        static bool fork_once(std::size_t, std::size_t, void *self) {
            once_t &once = *static_cast<once_t *>(self);
            if (*once.child >= 0 || std::this_thread::get_id() != once.caller) return true;
            return *once.child = ::fork(), true;
        }
    } once {&child, caller};
    call.model = handles.model, call.executor = handles.executor, call.outcome = &handles.outcome;
    call.texts = {texts.data(), offsets.data(), uform_scalar_u8_k}, call.count = 600, call.embeddings = &rows;
    call.arena = handles.arena, call.progress = {once_t::fork_once, &once};
    uform_text_encode(&call);
    if (child == 0) { // past the call, as a handler's careless host would be
        ::alarm(60);
        bool const refused = handles.outcome.status == uform_status_unsupported_k &&
                             std::strstr(handles.outcome.message, "was forked by the call's progress handler");
        ::_exit(refused ? 0 : 1);
    }
    ASSERT_GT(child, 0) << "no report came from the calling thread";
    EXPECT_EQ(handles.outcome.status, uform_status_success_k) << handles.outcome.message;
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

#if defined(__linux__)
TEST(fork, a_child_with_its_parents_process_number_is_told_apart) {
    int const failed = in_child([] {
        if (::unshare(CLONE_NEWPID) != 0) return 77;
        return in_child([] { // process 1
            if (::getpid() != 1) return 1;
            handles_t handles;
            std::string const expected = encode(handles, handles.executor);
            if (expected.empty()) return 2;
            if (::unshare(CLONE_NEWPID) != 0) return 77;
            return in_child([&] { // process 1 again
                if (::getpid() != 1) return 3;
                if (!encode(handles, handles.executor).empty()) return 4;
                return handles.outcome.status == uform_status_unsupported_k ? 0 : 5;
            });
        });
    });
    if (failed == 77) GTEST_SKIP() << "SKIPPED: this user may not make namespaces of processes";
    EXPECT_EQ(failed, 0);
}
#endif

} // namespace
