/**
 *  @file verdict.hpp
 *  @brief What `c/uform/types.h` promises of every call, checked: sends a call, waits for it, judges its outcome.
 *
 *  A broken promise ends the program with a sentence, which is how a fuzzer learns of it. Decoders say beforehand what
 *  must follow: a call they spoiled must be refused, a call they did not must succeed.
 */
#pragma once
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <uform/uform.h>

#include "cursor.hpp"

namespace uform_fuzz {

inline void require(bool kept, char const *promise) {
    if (kept) return;
    std::fprintf(stderr, "a promise is broken: %s\n", promise);
    std::abort();
}

/** What a call deserves, gathered while its fields are decoded. */
struct rules_t {
    bool refused = false; // something in it no build accepts
    bool open = false;    // the contract leaves its end open, or names a failure that is no refusal
    std::size_t items = 0;

    void refuse_if(bool bad) noexcept { refused |= bad; }
    void open_if(bool unclear) noexcept { open |= unclear; }
};

/** An output the verb may write on success alone. */
template <typename value_>
struct output_t {
    static constexpr int poison_k = 0xa5;
    value_ value;

    output_t() noexcept { std::memset(static_cast<void *>(&value), poison_k, sizeof(value)); }
    bool untouched() const noexcept {
        output_t const fresh;
        return std::memcmp(&value, &fresh.value, sizeof(value)) == 0;
    }
    void settle(uform_status_t status) const {
        require(status == uform_status_success_k || untouched(), "no output is written on failure");
    }
};

/** A handle output: what succeeds makes one, what fails leaves NULL, what cannot answer leaves it alone. */
template <typename handle_>
struct made_t : output_t<handle_> {
    /** Where the verb is to put it; now and then nowhere. */
    handle_ *place(cursor_t &cursor, rules_t &rules) noexcept {
        nowhere_ = cursor.hostile();
        rules.refuse_if(nowhere_);
        return nowhere_ ? nullptr : &this->value;
    }
    void settle(uform_status_t status, void (*free)(handle_)) const {
        if (nowhere_ || status == uform_status_unknown_k) return require(this->untouched(), "nothing to write to");
        if (status != uform_status_success_k) return require(!this->value, "handle outputs are NULL on failure");
        require(this->value && !this->untouched(), "a new handle is not NULL");
        free(this->value);
    }

  private:
    bool nowhere_ = false;
};

/** A progress handler that may stop, and that checks how it is called. */
struct progress_state_t {
    std::size_t calls_left = SIZE_MAX, completed = 0, total = 0;
    bool stopped = false;

    uform_progress_t handler(cursor_t &cursor) noexcept {
        std::size_t const kind = cursor.below(4);
        if (kind < 2) return {};
        if (kind == 3) calls_left = cursor.below(3);
        return {&progress_state_t::report, this};
    }

  private:
    static bool report(std::size_t completed, std::size_t total, void *context) {
        auto &self = *static_cast<progress_state_t *>(context);
        require(completed <= total && completed >= self.completed, "progress counts up to its total");
        require(self.total == 0 || total == self.total, "the total of a call stays");
        self.completed = completed, self.total = total;
        self.stopped |= self.calls_left-- == 0;
        return !self.stopped;
    }
};

inline bool is_refusal(uform_status_t status) noexcept {
    return status == uform_status_invalid_argument_k || status == uform_status_shape_mismatch_k ||
           status == uform_status_unsupported_k || status == uform_status_malformed_k;
}

/** Judges a final outcome by itself and by what its call deserved. */
inline void judge(uform_outcome_t const &outcome, rules_t const &rules, bool stopped) {
    uform_status_t const status = outcome.status;
    require(status == uform_outcome_status(&outcome), "a final status stays");
    require(status != uform_status_internal_k, "no call ends `internal`");
    require(std::strcmp(uform_status_name(status), "unknown") && status != uform_status_deferred_k,
            "the status is final and documented");
    require(outcome.message, "the message is never NULL");
    require(std::memchr(outcome.detail, 0, sizeof(outcome.detail)), "the detail is NUL-ended");
    bool const succeeded = status == uform_status_success_k;
    require(succeeded == !*outcome.message, "the message is empty on success alone");
    require(outcome.item == SIZE_MAX || (!succeeded && outcome.item < rules.items), "the item is one of the call's");
    require(status != uform_status_cancelled_k || stopped, "only a handler's false cancels");
    require(!succeeded || !stopped, "a stopped call is `cancelled`");
    if (rules.refused) require(is_refusal(status), outcome.message[0] ? outcome.message : "what is wrong is refused");
    if (!rules.refused && !rules.open && !stopped) require(succeeded, outcome.message);
}

/** Sends a call, `meanwhile` runs before it is final; answers its status, or `unknown` where it had no outcome. */
template <typename call_, typename meanwhile_>
uform_status_t send(cursor_t &cursor, void (*verb)(call_ *), call_ &call, rules_t rules,
                    progress_state_t const &progress, meanwhile_ const &meanwhile) {
    uform_outcome_t outcome;
    std::memset(&outcome, 0xa5, sizeof(outcome));
    call.outcome = cursor.byte() >= 0xf8 ? nullptr : &outcome;
    if constexpr (requires { call.completion; }) {
        call.completion = cursor.enumerator(uform_completion_queued_k);
        rules.refuse_if(call.completion < 0 || call.completion > uform_completion_queued_k);
    }
    verb(&call);
    meanwhile();
    if (!call.outcome) return uform_status_unknown_k;
    require(uform_outcome_wait(&outcome) == outcome.status, "waiting answers the final status");
    judge(outcome, rules, progress.stopped);
    return outcome.status;
}
template <typename call_>
uform_status_t send(cursor_t &cursor, void (*verb)(call_ *), call_ &call, rules_t const &rules,
                    progress_state_t const &progress = {}) {
    return send(cursor, verb, call, rules, progress, [] {});
}

} // namespace uform_fuzz
