/**
 *  @file executor.cpp
 *  @brief Threads that wait for forks: watching a counter for a moment, then asleep on it; each on a core of its own.
 *
 *  A fork stores the task, then moves `forks_`; a worker that sees the move runs the task and counts
 *  `working_` down, and the fork returns at zero. `std::atomic::wait` is a futex on Linux and makes no system call to
 *  wake a counter nobody sleeps on, so an executor that is busy all the time never enters the kernel.
 */
#include <uform/utilities/executor.hpp>

#include <uform/utilities/arithmetic.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>

#include <sched.h>

namespace uform {

namespace {

// How long to watch before sleeping: about what waking costs on a virtual machine.
constexpr std::chrono::microseconds watched_k {200};
constexpr int spins_k = 64; // between two looks at the clock

inline void relax() noexcept {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

void bind_to(pthread_attr_t &attributes, core_set_t const &cores) noexcept {
#if defined(__linux__) && defined(__GLIBC__)
    // Binding is a preference: where the system refuses it, the thread runs anywhere.
    (void)::pthread_attr_setaffinity_np(&attributes, sizeof(cores.words),
                                        reinterpret_cast<cpu_set_t const *>(cores.words));
#else
    (void)attributes, (void)cores;
#endif
}

} // namespace

void deal_t::fail(std::size_t index, failure_t const &failure) noexcept {
    stopped_.store(true, std::memory_order_relaxed);
    lock_.lock();
    if (index < failed_index_) failed_index_ = index, failure_ = failure;
    lock_.unlock();
}

executor_t::~executor_t() noexcept {
    stop();
    if (narrow_ != &solo_) delete[] narrow_;
}

failure_t executor_t::start(std::size_t threads, uform_cpu_class_t cpu_class, core_set_t const *cores) noexcept {
    cpu_class_ = cpu_class, process_ = this_process();
    if (threads > 1) {
        lane_t *const lanes = new (std::nothrow) lane_t[threads];
        if (!lanes) return fail(uform_status_out_of_memory_k, "memory for the executor's lanes is out");
        narrow_ = lanes, count_ = threads;
        wide_ = lane_t(team_t {&executor_t::run_team, this, narrow_, count_});
        if (!threads_.resize(threads - 1)) return fail(uform_status_out_of_memory_k, "memory for threads is out");
    }
    std::size_t const cache_bytes = second_level_bytes();
    wide_.set_cache_bytes(cache_bytes);
    for (std::size_t i = 0; i < count_; ++i) narrow_[i].set_cache_bytes(cache_bytes);
    for (std::size_t i = 0; i < threads_.size(); ++i) {
        threads_[i].executor = this, threads_[i].worker = i + 1, threads_[i].core = core_set_t::capacity_k;
        if (!spawn(threads_[i].handle, &executor_t::worker_main, &threads_[i], cores))
            return fail(uform_status_out_of_memory_k, "the system refused to start a thread", "thread %zu of %zu",
                        i + 1, threads);
        ++spawned_;
    }
    started_ = spawn(dispatcher_, &executor_t::dispatcher_main, this, cores);
    if (!started_) return fail(uform_status_out_of_memory_k, "the system refused to start a thread");
    return {};
}

void executor_t::place(domains_t const &domains) noexcept {
    domains_ = domains;
    for (std::size_t worker = 0; worker < count_; ++worker) narrow_[worker].scratch.place(domains);
    wide_.scratch.place(domains);
}

/** Starts a thread with all signals blocked: handlers are the host's, and run on the host's threads. */
bool executor_t::spawn(pthread_t &handle, void *(*main)(void *), void *argument, core_set_t const *cores) noexcept {
    pthread_attr_t attributes;
    if (::pthread_attr_init(&attributes) != 0) return false;
    if (cores) bind_to(attributes, *cores);
    sigset_t all, before;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    bool const spawned = ::pthread_create(&handle, &attributes, main, argument) == 0;
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    ::pthread_attr_destroy(&attributes);
    return spawned;
}

void executor_t::stop() noexcept {
    if (torn_by_fork()) return; // there is nobody to join
    stopping_.store(true, std::memory_order_relaxed);
    forks_.fetch_add(1), forks_.notify_all();
    submissions_.fetch_add(1), submissions_.notify_all();
    for (std::size_t i = 0; i < spawned_; ++i) ::pthread_join(threads_[i].handle, nullptr);
    if (started_) ::pthread_join(dispatcher_, nullptr);
    spawned_ = 0, started_ = false;
}

/** Whether to watch a moment before sleeping: always between a call's forks, and between calls if the mood says so. */
bool executor_t::watchful() const noexcept {
    return hold_.held() || mood_.load(std::memory_order_relaxed) == uform_mood_spinning_k;
}

executor_t::change_t executor_t::wait_change(std::atomic<std::uint32_t> const &word, std::uint32_t seen,
                                             bool watch) noexcept {
    using clock_t = std::chrono::steady_clock;
    for (clock_t::time_point const end = watch ? clock_t::now() + watched_k : clock_t::time_point(); watch;) {
        for (int i = 0; i < spins_k; ++i, relax())
            if (std::uint32_t const now = word.load(std::memory_order_acquire); now != seen) return {now, false};
        if (clock_t::now() > end) break;
        ::sched_yield(); // the one waited for may have been woken on this very core
    }
    for (;;) {
        if (std::uint32_t const now = word.load(std::memory_order_acquire); now != seen) return {now, true};
        word.wait(seen, std::memory_order_acquire);
    }
}

void executor_t::fork(task_t task, void *context) noexcept {
    if (count_ > 1) {
        task_ = task, context_ = context, forker_core_ = current_core();
        working_.store(std::uint32_t(count_ - 1), std::memory_order_relaxed);
        forks_.fetch_add(1), forks_.notify_all();
    }
    task(context, 0);
    if (torn_by_fork()) return; // by the task: the others stayed in the parent, and the call has failed
    for (std::uint32_t left; (left = working_.load(std::memory_order_acquire)) != 0;) wait_change(working_, left, true);
}

void executor_t::run_team(void *self, task_t task, void *context) noexcept {
    static_cast<executor_t *>(self)->fork(task, context);
}

/**
 *  A thread that slept may wake on the core of the one who woke it, or of another worker, with others idle: to the
 *  scheduler of a virtual machine a core that sleeps looks taken. It would share that core until the next tick, for
 *  milliseconds, so it looks for one of its own.
 */
void executor_t::take_core(thread_t &thread) noexcept {
    core_set_t taken;
    taken.add(forker_core_);
    for (thread_t const *other = threads_.data(); other != &thread; ++other)
        taken.add(other->core.load(std::memory_order_relaxed));
    if (taken.has(current_core())) step_aside(taken);
    thread.core.store(current_core(), std::memory_order_relaxed);
}

void *executor_t::worker_main(void *argument) noexcept {
    thread_t &thread = *static_cast<thread_t *>(argument);
    executor_t &executor = *thread.executor;
    for (std::uint32_t seen = 0;;) {
        change_t const change = wait_change(executor.forks_, seen, executor.watchful());
        seen = change.value;
        if (executor.stopping_.load(std::memory_order_relaxed)) return nullptr;
        if (change.slept) executor.take_core(thread);
        {
            default_arithmetic_t const arithmetic; // a thread starts with its maker's
            executor.task_(executor.context_, thread.worker);
        }
        if (executor.working_.fetch_sub(1) == 1) executor.working_.notify_all();
    }
}

void executor_t::wake_dispatcher(deferred_t task) noexcept {
    deferred_ = task;
    submissions_.fetch_add(1), submissions_.notify_all();
}

void *executor_t::dispatcher_main(void *self) noexcept {
    executor_t &executor = *static_cast<executor_t *>(self);
    for (std::uint32_t seen = 0;;) {
        // One by one: a call may be submitted while the one before it is still leaving.
        wait_change(executor.submissions_, seen, executor.watchful()), ++seen;
        if (executor.stopping_.load(std::memory_order_relaxed)) return nullptr;
        default_arithmetic_t const arithmetic;
        executor.deferred_(executor.arguments_storage_);
    }
}

void executor_t::reset_lanes() noexcept {
    std::size_t widest = 0;
    for (std::size_t worker = 0; worker < count_; ++worker)
        widest = std::max(widest, narrow_[worker].scratch.capacity());
    for (std::size_t worker = 0; worker < count_; ++worker)
        narrow_[worker].clear(), narrow_[worker].scratch.reset(widest);
    wide_.clear(), wide_.scratch.reset();
}

} // namespace uform
