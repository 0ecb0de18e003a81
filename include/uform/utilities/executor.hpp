/**
 *  @file executor.hpp
 *  @brief The threads one call runs on: fork and join, dynamic dealing of items, calls deferred to a thread of its own.
 *
 *  Made once, warm for good: its threads, lanes and scratch outlive calls, so a steady loop allocates nothing. A
 *  default-made executor is the calling thread alone; `start` adds threads. Of `threads()` workers, worker 0 is whoever
 *  runs the call: the caller where it blocks, the executor's dispatcher where it is deferred. The rest are its own.
 *
 *      for_ram(3)   caller ──fork──▶ worker 0 ─┐          submit ──▶ dispatcher ──fork──▶ worker 0 ─┐
 *                   thread 1 ──────▶ worker 1 ─┼─ join                thread 1 ──────────▶ worker 1 ─┼─ join
 *                   thread 2 ──────▶ worker 2 ─┘                      thread 2 ──────────▶ worker 2 ─┘
 *
 *  One call at a time: `try_hold` first, `release` last. Everything but those, `set_mood` and `wait_free` is the
 *  holder's. It knows no verb, and forks do not nest: a body must not fork again, nor use the wide lane.
 */
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <type_traits>

#include <pthread.h>

#include <uform/utilities/cores.hpp>
#include <uform/utilities/hold.hpp>
#include <uform/utilities/lane.hpp>

namespace uform {

/** Where one dealing of items stands; shared by its workers. */
class deal_t {
    std::atomic<std::size_t> next_ {0};
    std::atomic<bool> stopped_ {false};
    std::size_t const count_;
    lock_t lock_;
    std::size_t failed_index_ = SIZE_MAX;
    failure_t failure_;

  public:
    explicit deal_t(std::size_t count) noexcept : count_(count) {}
    /** The next index, in order; `count` or beyond where there is none left or one has failed. */
    std::size_t take() noexcept {
        return stopped_.load(std::memory_order_relaxed) ? count_ : next_.fetch_add(1, std::memory_order_relaxed);
    }
    void fail(std::size_t index, failure_t const &failure) noexcept;
    failure_t const &failure() const noexcept { return failure_; }
};

class executor_t {
  public:
    using task_t = team_t::task_t;
    using deferred_t = void (*)(void *arguments) noexcept;
    static constexpr std::size_t arguments_capacity_k = 1024;

    executor_t() noexcept = default;
    executor_t(executor_t const &) = delete;
    executor_t &operator=(executor_t const &) = delete;
    /** Joins its threads; the last call must be through (`wait_free`). */
    ~executor_t() noexcept;

    /** Adds `threads - 1` threads and a dispatcher, bound to `cores` unless null. Once, before any other use. */
    failure_t start(std::size_t threads, uform_cpu_class_t cpu_class, core_set_t const *cores) noexcept;
    /** Where scratch, and what is made for this executor, should lie. After `start`, before the first call. */
    void place(domains_t const &domains) noexcept;
    domains_t const &domains() const noexcept { return domains_; }

    [[nodiscard]] bool try_hold() noexcept { return hold_.try_hold(); }
    void release() noexcept { hold_.release(); }
    void release_leaving() noexcept { hold_.release_leaving(); }
    void leave() noexcept { hold_.leave(); }
    void wait_free() const noexcept { hold_.wait_free(); }
    /** True in a child forked since `start`: the threads stayed in the parent, and no call can run. */
    bool torn_by_fork() const noexcept { return process_ && process_ != this_process(); }
    /** True where such a child also inherited a call in the middle: lanes may be half written, so they must leak. */
    bool call_torn_by_fork() const noexcept { return hold_.torn_by_fork(); }
    void set_mood(uform_mood_t mood) noexcept { mood_.store(mood, std::memory_order_relaxed); }

    std::size_t threads() const noexcept { return count_; }
    uform_cpu_class_t cpu_class() const noexcept { return cpu_class_; } // resolved; zero in a default-made executor
    lane_t &narrow_lane(std::size_t worker) noexcept { return narrow_[worker]; }
    lane_t &wide_lane() noexcept { return wide_; }

    /** Calls `body(worker)` once for every worker, at once, and returns when all are through. */
    template <typename body_>
    void for_workers(body_ const &body) noexcept {
        fork([](void *context, std::size_t worker) noexcept { (*static_cast<body_ const *>(context))(worker); },
             const_cast<body_ *>(&body));
    }

    /**
     *  Calls `body(index, lane)` for every index below `count`, each on some worker's narrow lane, whose scratch is
     *  rewound in between. A body fails through its lane; then no further index is dealt, and the answer is the failure
     *  of the lowest index that fails, whatever the timing: indices are dealt in order, and those dealt are finished.
     */
    template <typename body_>
    failure_t deal(std::size_t count, body_ const &body) noexcept {
        deal_t deal(count);
        auto const work = [&](std::size_t worker) noexcept {
            lane_t &lane = narrow_[worker];
            for (std::size_t index; (index = deal.take()) < count;) {
                scratch_scope_t const scope(lane);
                body(index, lane);
                if (lane.failed()) deal.fail(index, lane.failure()), lane.clear();
            }
        };
        if (count <= 1 || count_ == 1) work(0);
        else for_workers(work);
        return deal.failure();
    }

    /**
     *  Rewinds every lane and forgets their failures, as each call starts; merges scratch grown by the call before. All
     *  narrow lanes get as much as the largest: which worker meets the largest item is chance, and one that meets it
     *  first after a thousand calls must not allocate then. What a lane never touches costs addresses, not memory.
     */
    void reset_lanes() noexcept;

    /** Runs `task` on the dispatcher over a copy of `arguments`. The task releases the executor itself. */
    template <typename arguments_>
    void submit(deferred_t task, arguments_ const &arguments) noexcept {
        static_assert(sizeof(arguments_) <= arguments_capacity_k && std::is_trivially_copyable_v<arguments_>);
        std::memcpy(arguments_storage_, &arguments, sizeof(arguments_));
        wake_dispatcher(task);
    }

  private:
    struct thread_t {
        executor_t *executor;
        std::size_t worker;
        pthread_t handle;
        std::atomic<std::size_t> core; // where it last ran a task
    };

    void fork(task_t task, void *context) noexcept;
    static void run_team(void *self, task_t task, void *context) noexcept;
    static void *worker_main(void *thread) noexcept;
    static void *dispatcher_main(void *self) noexcept;
    void wake_dispatcher(deferred_t task) noexcept;
    bool watchful() const noexcept;
    struct change_t {
        std::uint32_t value;
        bool slept;
    };
    static change_t wait_change(std::atomic<std::uint32_t> const &word, std::uint32_t seen, bool watch) noexcept;
    void take_core(thread_t &thread) noexcept;
    bool spawn(pthread_t &handle, void *(*main)(void *), void *argument, core_set_t const *cores) noexcept;
    void stop() noexcept;

    hold_t hold_;
    std::atomic<uform_mood_t> mood_ {uform_mood_spinning_k};
    uform_cpu_class_t cpu_class_ = uform_cpu_class_derived_k;
    domains_t domains_;
    bool started_ = false;
    std::uint32_t process_ = 0; // that started it

    std::size_t count_ = 1; // workers
    lane_t solo_;           // the narrow lane of a single worker
    lane_t *narrow_ = &solo_;
    lane_t wide_;

    buffer_t<thread_t> threads_; // [workers - 1]
    std::size_t spawned_ = 0;    // of threads_, running
    task_t task_ = nullptr;
    void *context_ = nullptr;
    std::size_t forker_core_ = core_set_t::capacity_k; // where the task is forked from
    alignas(64) std::atomic<std::uint32_t> forks_ {0};   // changes when there is work
    alignas(64) std::atomic<std::uint32_t> working_ {0}; // threads not through with it
    std::atomic<bool> stopping_ {false};

    pthread_t dispatcher_ {};
    deferred_t deferred_ = nullptr;
    alignas(64) std::atomic<std::uint32_t> submissions_ {0};
    alignas(64) std::byte arguments_storage_[arguments_capacity_k];
};

} // namespace uform
