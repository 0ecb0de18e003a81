/**
 *  @file batch_queue.hpp
 *  @brief Builds the batches of coming steps on a thread of its own.
 *
 *  The batch of a step is a pure function of its number, so the queue holds no state that a resumed run would need: it
 *  starts at the step to go on from, and what was built and not taken is dropped.
 */
#pragma once
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>

#include "support/material.hpp"

namespace uform::tools {

/** One step's items, and what they were made from. */
struct prepared_t {
    drawn_t drawn;
    batch_t batch;
};

class batch_queue_t {
  public:
    /** Builds steps `first` up to `end`; until it is destroyed nobody else may draw from `material`. */
    batch_queue_t(material_t &material, std::size_t first, std::size_t end);
    batch_queue_t(batch_queue_t const &) = delete;
    ~batch_queue_t();

    /** The next step's, once it is there; what went wrong while it was built is thrown here. */
    prepared_t take();

  private:
    void build(std::size_t first, std::size_t end) noexcept;
    bool put(prepared_t prepared);

    material_t &material_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<prepared_t> ready_;
    std::size_t bytes_ = 0; // of those
    std::exception_ptr failure_;
    bool leaving_ = false;
    std::thread thread_; // last, as it uses the others
};

} // namespace uform::tools
