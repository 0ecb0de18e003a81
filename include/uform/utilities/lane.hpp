/**
 *  @file lane.hpp
 *  @brief Where a kernel runs: a slice of the thread pool, scratch memory, and the first failure.
 *
 *  Every kit operation takes a lane first. A narrow lane is one thread; a wide lane spans a team, and `rows` deals
 *  slices of an operation's independent rows to it. How rows are dealt never changes a result: an operation may split
 *  only what it does not sum over.
 */
#pragma once
#include <algorithm>
#include <cstddef>

#include <uform/utilities/buffer.hpp>
#include <uform/utilities/placement.hpp>
#include <uform/utilities/status.hpp>

namespace uform {

/**
 *  A bump allocator that keeps every pointer valid until it is rewound. What does not fit opens another block; `reset`
 *  replaces several blocks by one of their total size, so a steady loop stops allocating after its first round.
 */
class scratch_t {
  public:
    struct mark_t {
        std::size_t block, used;
    };
    scratch_t() noexcept = default;
    scratch_t(scratch_t &&) noexcept = default;
    scratch_t &operator=(scratch_t &&) noexcept = default;

    /** 64-byte aligned, uninitialized memory for `count` elements; null when memory is out. */
    template <typename element_>
    element_ *claim(std::size_t count) noexcept {
        if (count > SIZE_MAX / 4 / sizeof(element_)) return nullptr;
        return static_cast<element_ *>(claim_bytes(count * sizeof(element_)));
    }
    mark_t mark() const noexcept { return {block_, used_}; }
    void rewind(mark_t mark) noexcept { block_ = mark.block, used_ = mark.used; }
    /** Rewinds to the start, as one block of no less than `least` bytes. */
    void reset(std::size_t least = 0) noexcept;
    std::size_t capacity() const noexcept;
    /** True where a block holds any of the `bytes` bytes at `data`. */
    bool holds(void const *data, std::size_t bytes) const noexcept;
    /** Where blocks opened from now on should come from. */
    void place(domains_t const &domains) noexcept { domains_ = domains; }

  private:
    static constexpr std::size_t blocks_k = 32;
    void *claim_bytes(std::size_t bytes) noexcept;

    placed_t blocks_[blocks_k];
    domains_t domains_;
    std::size_t block_ = 0; // the block being filled
    std::size_t used_ = 0;  // bytes of it in use
};

class lane_t;

/** The threads behind a wide lane; the executor fills it in. */
struct team_t {
    using task_t = void (*)(void *context, std::size_t worker) noexcept;
    void (*run)(void *self, task_t task, void *context) noexcept = nullptr; // calls task for every worker, then joins
    void *self = nullptr;
    lane_t *workers = nullptr; // `count` narrow lanes
    std::size_t count = 0;
};

class lane_t {
  public:
    scratch_t scratch;

    lane_t() noexcept = default;
    explicit lane_t(team_t team) noexcept : team_(team) {}

    std::size_t width() const noexcept { return team_.count ? team_.count : 1; }
    /** Bytes of second-level cache a thread of this lane has: how operations cut their blocks, which changes no result. */
    std::size_t cache_bytes() const noexcept { return cache_bytes_; }
    void set_cache_bytes(std::size_t bytes) noexcept { cache_bytes_ = bytes; }
    bool failed() const noexcept { return bool(failure_); }
    failure_t const &failure() const noexcept { return failure_; }
    /** Keeps the first failure; later ones are its consequences. */
    void fail(failure_t const &failure) noexcept {
        if (!failure_) failure_ = failure;
    }
    void clear() noexcept { failure_ = {}; }

    /** Claims scratch or records that memory is out. */
    template <typename element_>
    element_ *claim(std::size_t count) noexcept {
        element_ *memory = scratch.claim<element_>(count);
        if (!memory) fail(uform::fail(uform_status_out_of_memory_k, "scratch memory is out"));
        return memory;
    }

    /**
     *  Calls `body(first, last, worker_lane)` over disjoint slices that cover `[0, count)`, in parallel where the lane
     *  is wide. Slices start at multiples of `grain`. The body uses its worker's scratch and failure alone.
     */
    template <typename body_>
    void rows(std::size_t count, std::size_t grain, body_ const &body) noexcept;

  private:
    failure_t failure_;
    team_t team_;
    std::size_t cache_bytes_ = std::size_t(1) << 20;
};

/** Rewinds a lane's scratch when an operation leaves. */
class scratch_scope_t {
    scratch_t &scratch_;
    scratch_t::mark_t mark_;

  public:
    explicit scratch_scope_t(lane_t &lane) noexcept : scratch_(lane.scratch), mark_(lane.scratch.mark()) {}
    ~scratch_scope_t() noexcept { scratch_.rewind(mark_); }
    scratch_scope_t(scratch_scope_t const &) = delete;
    scratch_scope_t &operator=(scratch_scope_t const &) = delete;
};

template <typename body_>
void lane_t::rows(std::size_t count, std::size_t grain, body_ const &body) noexcept {
    if (count == 0) return;
    if (team_.count <= 1 || count <= grain) return body(std::size_t(0), count, *this);
    struct job_t {
        body_ const &body;
        lane_t *workers;
        std::size_t count, step;
    };
    std::size_t const grains = (count + grain - 1) / grain;
    job_t job {body, team_.workers, count, (grains + team_.count - 1) / team_.count * grain};
    team_.run(team_.self,
              [](void *context, std::size_t worker) noexcept {
                  job_t const &job = *static_cast<job_t *>(context);
                  std::size_t const first = worker * job.step, last = std::min(job.count, first + job.step);
                  if (first < last) job.body(first, last, job.workers[worker]);
              },
              &job);
    for (std::size_t worker = 0; worker < team_.count; ++worker) {
        if (team_.workers[worker].failed()) fail(team_.workers[worker].failure());
        team_.workers[worker].clear();
    }
}

} // namespace uform
