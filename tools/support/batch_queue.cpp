/**
 *  @file batch_queue.cpp
 *  @brief One producer, one consumer, a few batches between them.
 */
#include <csignal>
#include <utility>

#include "support/batch_queue.hpp"

namespace uform::tools {

namespace {

constexpr std::size_t ahead_k = 4;
constexpr std::size_t ahead_bytes_k = std::size_t(1) << 28; // of files, after which none are read

/** Signals are for the thread that waits in calls they must end. */
template <typename body_>
std::thread start_without_signals(body_ &&body) {
    sigset_t all, before;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    struct restorer_t {
        sigset_t const &mask;
        ~restorer_t() { ::pthread_sigmask(SIG_SETMASK, &mask, nullptr); }
    } const restorer {before};
    return std::thread(std::forward<body_>(body));
}

} // namespace

batch_queue_t::batch_queue_t(material_t &material, std::size_t first, std::size_t end)
    : material_(material), thread_(start_without_signals([=, this] { build(first, end); })) {}

batch_queue_t::~batch_queue_t() {
    {
        std::lock_guard const lock(mutex_);
        leaving_ = true;
    }
    changed_.notify_all();
    thread_.join();
}

bool batch_queue_t::put(prepared_t prepared) {
    std::unique_lock lock(mutex_);
    auto const has_room = [&] { return ready_.size() < ahead_k && (ready_.empty() || bytes_ < ahead_bytes_k); };
    changed_.wait(lock, [&] { return leaving_ || has_room(); });
    bytes_ += prepared.batch.bytes.size();
    if (!leaving_) ready_.push_back(std::move(prepared));
    changed_.notify_all();
    return !leaving_;
}

void batch_queue_t::build(std::size_t first, std::size_t end) noexcept {
    try {
        for (std::size_t step = first; step < end; ++step) {
            drawn_t drawn = material_.draw(step);
            batch_t batch = material_.batch(drawn);
            if (!put({std::move(drawn), std::move(batch)})) return;
        }
    } catch (...) {
        std::lock_guard const lock(mutex_);
        failure_ = std::current_exception();
    }
    changed_.notify_all();
}

prepared_t batch_queue_t::take() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return failure_ || !ready_.empty(); });
    if (ready_.empty()) std::rethrow_exception(failure_);
    prepared_t prepared = std::move(ready_.front());
    ready_.pop_front();
    bytes_ -= prepared.batch.bytes.size();
    changed_.notify_all();
    return prepared;
}

} // namespace uform::tools
