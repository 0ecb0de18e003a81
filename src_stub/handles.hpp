/**
 *  @file handles.hpp
 *  @brief What the handles of `uform/types.h` point to: an executor is one thread for queued calls, an arena is blocks.
 */
#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <thread>
#include <vector>

#include <uform/types.h>

#include "hold.hpp"

/** However many threads are asked for, one takes queued calls; blocking ones run where they are made. */
struct uform_executor_handle_t {
    uform_stub::hold_t hold;

    uform_executor_handle_t() : worker_([this] { work(); }) {}
    ~uform_executor_handle_t() {
        submit({});
        worker_.join();
    }
    /** The task of a held call; an empty one ends the thread. */
    void submit(std::function<void()> task) {
        std::lock_guard const lock(mutex_);
        tasks_.push_back(std::move(task));
        submitted_.notify_one();
    }

  private:
    void work() {
        for (std::function<void()> task;;) {
            {
                std::unique_lock lock(mutex_);
                submitted_.wait(lock, [this] { return !tasks_.empty(); });
                task = std::move(tasks_.front());
                tasks_.pop_front();
            }
            if (!task) return;
            task();
        }
    }
    std::mutex mutex_;
    std::condition_variable submitted_;
    std::deque<std::function<void()>> tasks_;
    std::thread worker_; // last: it reads the others
};

struct uform_arena_handle_t {
    uform_stub::hold_t hold;
    std::vector<std::vector<std::byte>> blocks; // of the last call that named the arena

    /** Zeroed, valid until the next call. */
    std::byte *claim(std::size_t bytes) { return blocks.emplace_back(bytes ? bytes : 1).data(); }

    /** True where a block holds any of the `bytes` bytes at `data`. */
    bool holds(void const *data, std::size_t bytes) const {
        auto const first = reinterpret_cast<std::uintptr_t>(data);
        for (auto const &block : blocks) {
            auto const begin = reinterpret_cast<std::uintptr_t>(block.data());
            if (bytes && first < begin + block.size() && begin < first + bytes) return true;
        }
        return false;
    }
};
