/**
 *  @file conformance.hpp
 *  @brief What the suite shares: views, calls with their outcome, owned handles, a folder, checkpoints written by hand.
 *
 *  The suite sees c/ alone and is compiled once per library. Every expected status is a literal, so two libraries that
 *  pass it agree; nothing here asks which of them it runs on.
 */
#pragma once
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include <uform/uform.h>

namespace conformance {

inline uform_bytes_view_t view(std::string const &text) { return {text.data(), text.size()}; }

/** An outcome full of noise: a verb must set every field, whatever was there. */
struct outcome_t : uform_outcome_t {
    outcome_t() {
        std::memset(static_cast<uform_outcome_t *>(this), 0x5a, sizeof(uform_outcome_t));
        status = 12345;
    }
};

/** What every final outcome keeps: a status with a name, a message, a NUL-ended detail, and no item on success. */
inline void expect_final(uform_outcome_t const &outcome) {
    ASSERT_STRNE(uform_status_name(outcome.status), "unknown") << outcome.status;
    ASSERT_NE(outcome.status, uform_status_deferred_k);
    ASSERT_NE(outcome.message, nullptr);
    EXPECT_NE(std::memchr(outcome.detail, 0, sizeof(outcome.detail)), nullptr) << "detail is not NUL-ended";
    if (outcome.status == uform_status_success_k) {
        EXPECT_STREQ(outcome.message, "");
        EXPECT_EQ(outcome.item, SIZE_MAX);
    } else
        EXPECT_STRNE(outcome.message, "");
}

inline std::string told(uform_outcome_t const &outcome) {
    return std::string(uform_status_name(outcome.status)) + ": " + outcome.message + ": " + outcome.detail;
}

/** Runs a blocking verb and answers its outcome. */
template <typename call_>
outcome_t answer(void (*verb)(call_ *), call_ call) {
    outcome_t outcome;
    call.outcome = &outcome;
    verb(&call);
    expect_final(outcome);
    return outcome;
}

/**
 *  A row of a table that the bindings replay too: `rows.txt` lists them all. A file in place of arguments is kept for
 *  them beside the list, where one is written.
 */
void tell_row(std::string const &what, uform_status_t status, std::string const &word, std::size_t item = SIZE_MAX,
              std::string const *file = nullptr);

/** One way to break a call: the status, a word the message must name, and where one item is at fault, its index. */
template <typename call_>
struct breakage_t {
    char const *what;
    uform_status_t status;
    char const *word;
    std::function<void(call_ &)> make;
    std::size_t item = SIZE_MAX;
};

/** Runs a call that is right but for one field, for every breakage. */
template <typename call_>
void expect_refusals(void (*verb)(call_ *), call_ const &right, std::vector<breakage_t<call_>> const &breakages) {
    for (auto const &breakage : breakages) {
        SCOPED_TRACE(breakage.what);
        tell_row(breakage.what, breakage.status, breakage.word, breakage.item);
        call_ call = right;
        breakage.make(call);
        outcome_t const outcome = answer(verb, call);
        EXPECT_STREQ(uform_status_name(outcome.status), uform_status_name(breakage.status)) << told(outcome);
        EXPECT_NE(std::string(outcome.message).find(breakage.word), std::string::npos)
            << told(outcome) << " does not name " << breakage.word;
        EXPECT_EQ(outcome.item, breakage.item);
    }
}

#define EXPECT_STATUS(outcome, expected)                                                                               \
    do {                                                                                                               \
        auto const &outcome_ = (outcome);                                                                              \
        EXPECT_STREQ(uform_status_name(outcome_.status), uform_status_name(expected))                                  \
            << ::conformance::told(outcome_);                                                                          \
    } while (0)
#define EXPECT_SUCCESS(outcome) EXPECT_STATUS(outcome, uform_status_success_k)

/** A handle that frees itself. */
template <typename handle_, void (*free_)(handle_)>
class owned_t {
    handle_ handle_value_ = nullptr;

  public:
    owned_t() = default;
    owned_t(owned_t const &) = delete;
    ~owned_t() { free_(handle_value_); }
    operator handle_() const { return handle_value_; }
    handle_ *out() { return &handle_value_; }
    void reset() { free_(std::exchange(handle_value_, nullptr)); }
};
using executor_t = owned_t<uform_executor_t, uform_executor_free>;
using arena_t = owned_t<uform_arena_t, uform_arena_free>;
using model_t = owned_t<uform_model_t, uform_model_free>;
using trainer_t = owned_t<uform_trainer_t, uform_trainer_free>;

inline void make_executor(executor_t &executor, std::size_t threads = 2) {
    uform_executor_for_ram_t call {};
    call.executor = executor.out(), call.threads = threads;
    EXPECT_SUCCESS(answer(uform_executor_for_ram, call));
}
inline void make_arena(arena_t &arena) {
    uform_arena_init_t call {};
    call.arena = arena.out();
    EXPECT_SUCCESS(answer(uform_arena_init, call));
}
inline void load(model_t &model, std::string const &path) {
    uform_model_load_ram_t call {};
    call.model = model.out(), call.path = view(path);
    EXPECT_SUCCESS(answer(uform_model_load_ram, call));
}
inline void load_bytes(model_t &model, std::string const &bytes) {
    uform_model_load_ram_buffer_t call {};
    call.model = model.out(), call.buffer = view(bytes);
    EXPECT_SUCCESS(answer(uform_model_load_ram_buffer, call));
}

/** Texts laid end to end. */
struct tape_t {
    std::string data;
    std::vector<std::size_t> offsets {0};

    tape_t(std::vector<std::string> const &texts) {
        for (std::string const &text : texts) data += text, offsets.push_back(data.size());
    }
    std::size_t count() const { return offsets.size() - 1; }
    uform_tape_view_t view() const { return {data.data(), offsets.data(), uform_scalar_u8_k}; }
};

/** A folder of its own, removed with all that is in it. */
class folder_t {
    std::filesystem::path path_;

  public:
    folder_t() {
        std::string pattern = (std::filesystem::temp_directory_path() / "uform-conformance-XXXXXX").string();
        if (::mkdtemp(pattern.data())) path_ = pattern;
    }
    folder_t(folder_t const &) = delete;
    ~folder_t() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    std::string operator/(std::string const &name) const { return (path_ / name).string(); }
    std::string path() const { return path_.string(); }
    std::vector<std::string> names() const {
        std::vector<std::string> names;
        for (auto const &entry : std::filesystem::directory_iterator(path_)) names.push_back(entry.path().filename());
        return names;
    }
};
inline void write_file(std::string const &path, std::string const &bytes) {
    std::ofstream(path, std::ios::binary).write(bytes.data(), std::streamsize(bytes.size()));
}
inline std::string read_file(std::string const &path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

/** A progress handler that holds its call until told to go on, so that a test can look around meanwhile. */
class gate_t {
    std::mutex mutex_;
    std::condition_variable changed_;
    bool inside_ = false, open_ = false;

    static bool pass(std::size_t, std::size_t, void *self) {
        auto &gate = *static_cast<gate_t *>(self);
        std::unique_lock lock(gate.mutex_);
        gate.inside_ = true, gate.changed_.notify_all();
        gate.changed_.wait(lock, [&] { return gate.open_; });
        return true;
    }

  public:
    uform_progress_t handler() { return {pass, this}; }
    void wait_inside() {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return inside_; });
    }
    void open() {
        std::lock_guard const lock(mutex_);
        open_ = true, changed_.notify_all();
    }
};

/** Remembers reports: counts that rise to a total that stays; stops the call at the report named. */
struct reports_t {
    std::size_t calls = 0, last = 0, total = 0, stop_at = SIZE_MAX;
    bool orderly = true;

    uform_progress_t handler() {
        return {[](std::size_t completed, std::size_t total, void *context) {
                    auto &self = *static_cast<reports_t *>(context);
                    self.orderly = self.orderly && completed > self.last && completed <= total;
                    self.orderly = self.orderly && (self.calls == 0 || total == self.total);
                    self.last = completed, self.total = total;
                    return ++self.calls != self.stop_at;
                },
                this};
    }
};

inline std::string const &nano_path() {
    static std::string const path = UFORM_CONFORMANCE_MODEL;
    return path;
}

} // namespace conformance
