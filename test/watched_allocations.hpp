/**
 *  @file watched_allocations.hpp
 *  @brief Every allocation of the process under a test's eyes: counted, remembered until freed, and refused on demand.
 *
 *  Include it in one unit of a program. It replaces malloc and its kin, which the C++ library's operator new and shared
 *  libraries such as simdjson's come down to, anonymous mmap, and pthread_create, whose refusal is a lack of memory too.
 *  Under a sanitizer, which must keep malloc for itself, and outside of glibc, operator new in all its forms stands in
 *  for malloc.
 *
 *  It only looks while a `watch`ed call runs, whichever thread allocates, so that what a test itself allocates does not
 *  count. What the C library allocates to start a thread is left out as well: it outlives the thread, in a cache. A test
 *  may narrow it further: `only` is asked about the code that allocates.
 */
#pragma once
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>

#include <dlfcn.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define UFORM_TEST_OWNS_MALLOC 1
#else
#define UFORM_TEST_OWNS_MALLOC 0
#endif

namespace uform::test {

/** Which allocations are refused, counted from one: `[first, last]`; none by default. */
struct refusals_t {
    std::size_t first = SIZE_MAX, last = 0;
};

class allocations_t {
    static constexpr std::size_t live_limit_k = 4096;
    struct block_t {
        void *memory;
        std::size_t bytes;
    };

    std::atomic<bool> watching_ {false};
    std::atomic<std::size_t> seen_ {0}, refused_ {0};
    refusals_t refusals_;
    std::atomic_flag locked_ = ATOMIC_FLAG_INIT;
    block_t blocks_[live_limit_k] = {};
    std::size_t slots_ = 0; // of blocks_, ever used
    std::atomic<std::size_t> live_ {0};
    bool overflowed_ = false;

    struct guard_t {
        std::atomic_flag &flag;
        explicit guard_t(std::atomic_flag &flag) noexcept : flag(flag) {
            while (flag.test_and_set(std::memory_order_acquire)) {
            }
        }
        ~guard_t() noexcept { flag.clear(std::memory_order_release); }
    };

  public:
    /** Of the last watched call. */
    std::size_t seen() const noexcept { return seen_; }
    std::size_t refused() const noexcept { return refused_; }
    /** Blocks that watched calls allocated and nobody freed since; SIZE_MAX where they were too many to follow. */
    std::size_t live() const noexcept { return overflowed_ ? SIZE_MAX : live_.load(); }

    template <typename call_>
    void watch(refusals_t refusals, call_ const &call) noexcept {
        refusals_ = refusals, seen_ = 0, refused_ = 0;
        watching_ = true;
        call();
        watching_ = false;
    }

    /** Whether what is allocated by this code counts; all does where it is null. */
    bool (*only)(void const *caller) noexcept = nullptr;

    // ---- for the replaced functions -----------------------------------------------------------------------------
    bool refuse(void const *caller) noexcept {
        if (!watching(caller)) return false;
        std::size_t const number = ++seen_;
        if (number < refusals_.first || number > refusals_.last) return false;
        ++refused_;
        errno = ENOMEM;
        return true;
    }
    void *keep(void *memory, std::size_t bytes, void const *caller) noexcept {
        if (!memory || !watching(caller)) return memory;
        guard_t const guard(locked_);
        std::size_t slot = 0;
        while (slot < slots_ && blocks_[slot].memory) ++slot;
        if (slot == live_limit_k) return overflowed_ = true, memory;
        blocks_[slot] = {memory, bytes}, slots_ = slot < slots_ ? slots_ : slot + 1, ++live_;
        return memory;
    }
    void forget(void const *memory) noexcept {
        if (!memory || live_.load(std::memory_order_relaxed) == 0) return;
        guard_t const guard(locked_);
        for (std::size_t slot = 0; slot < slots_; ++slot)
            if (blocks_[slot].memory == memory) {
                blocks_[slot].memory = nullptr, --live_;
                return;
            }
    }
    static inline thread_local bool starting_thread = false;

  private:
    bool watching(void const *caller) const noexcept {
        return watching_.load(std::memory_order_relaxed) && !starting_thread && (!only || only(caller));
    }
};

inline constinit allocations_t allocations;

} // namespace uform::test

#define UFORM_TEST_CALLER __builtin_return_address(0)

extern "C" {

#if UFORM_TEST_OWNS_MALLOC
void *__libc_malloc(std::size_t);
void *__libc_calloc(std::size_t, std::size_t);
void *__libc_realloc(void *, std::size_t);
void *__libc_memalign(std::size_t, std::size_t);
void __libc_free(void *);

void *malloc(std::size_t bytes) noexcept {
    using uform::test::allocations;
    void const *const caller = UFORM_TEST_CALLER;
    return allocations.refuse(caller) ? nullptr : allocations.keep(__libc_malloc(bytes), bytes, caller);
}
void *calloc(std::size_t count, std::size_t bytes) noexcept {
    using uform::test::allocations;
    void const *const caller = UFORM_TEST_CALLER;
    return allocations.refuse(caller) ? nullptr : allocations.keep(__libc_calloc(count, bytes), count * bytes, caller);
}
void *realloc(void *memory, std::size_t bytes) noexcept {
    using uform::test::allocations;
    void const *const caller = UFORM_TEST_CALLER;
    if (allocations.refuse(caller)) return nullptr;
    allocations.forget(memory);
    return allocations.keep(__libc_realloc(memory, bytes), bytes, caller);
}
static void *watched_memalign(std::size_t alignment, std::size_t bytes, void const *caller) noexcept {
    using uform::test::allocations;
    return allocations.refuse(caller) ? nullptr : allocations.keep(__libc_memalign(alignment, bytes), bytes, caller);
}
void *memalign(std::size_t alignment, std::size_t bytes) noexcept {
    return watched_memalign(alignment, bytes, UFORM_TEST_CALLER);
}
void *aligned_alloc(std::size_t alignment, std::size_t bytes) noexcept {
    return watched_memalign(alignment, bytes, UFORM_TEST_CALLER);
}
int posix_memalign(void **memory, std::size_t alignment, std::size_t bytes) noexcept {
    void *const found = watched_memalign(alignment, bytes, UFORM_TEST_CALLER);
    if (!found) return ENOMEM;
    *memory = found;
    return 0;
}
void free(void *memory) noexcept {
    uform::test::allocations.forget(memory);
    __libc_free(memory);
}
#endif

void *mmap(void *address, std::size_t bytes, int protection, int flags, int file, off_t offset) noexcept {
    using uform::test::allocations;
    bool const anonymous = flags & MAP_ANONYMOUS;
    void const *const caller = UFORM_TEST_CALLER;
    if (anonymous && allocations.refuse(caller)) return MAP_FAILED;
    // glibc's syscall(2) wrapper sets errno and answers -1, which is MAP_FAILED.
    void *const memory = reinterpret_cast<void *>(::syscall(SYS_mmap, address, bytes, protection, flags, file, offset));
    // Mappings of files are remembered too, so that one left behind shows.
    return memory == MAP_FAILED ? memory : allocations.keep(memory, bytes, caller);
}
int munmap(void *memory, std::size_t bytes) noexcept {
    uform::test::allocations.forget(memory);
    return int(::syscall(SYS_munmap, memory, bytes));
}

int pthread_create(pthread_t *thread, pthread_attr_t const *attributes, void *(*body)(void *),
                   void *argument) noexcept {
    using uform::test::allocations_t;
    if (uform::test::allocations.refuse(UFORM_TEST_CALLER)) return EAGAIN;
    allocations_t::starting_thread = true;
    static auto const create = reinterpret_cast<decltype(&pthread_create)>(::dlsym(RTLD_NEXT, "pthread_create"));
    int const error = create(thread, attributes, body, argument);
    allocations_t::starting_thread = false;
    return error;
}

} // extern "C"

#if !UFORM_TEST_OWNS_MALLOC
namespace uform::test {
inline void *allocate(std::size_t bytes, std::size_t alignment = __STDCPP_DEFAULT_NEW_ALIGNMENT__) noexcept {
    if (allocations.refuse(nullptr)) return nullptr; // of the program: no library of C comes here
    std::size_t const rounded = (bytes + alignment - 1) / alignment * alignment;
    return allocations.keep(std::aligned_alloc(alignment, rounded ? rounded : alignment), bytes, nullptr);
}
inline void *allocate_or_throw(std::size_t bytes, std::size_t alignment = __STDCPP_DEFAULT_NEW_ALIGNMENT__) {
    if (void *const memory = allocate(bytes, alignment)) return memory;
    throw std::bad_alloc();
}
inline void deallocate(void *memory) noexcept {
    allocations.forget(memory);
    std::free(memory);
}
} // namespace uform::test

void *operator new(std::size_t bytes) { return uform::test::allocate_or_throw(bytes); }
void *operator new[](std::size_t bytes) { return uform::test::allocate_or_throw(bytes); }
void *operator new(std::size_t bytes, std::nothrow_t const &) noexcept { return uform::test::allocate(bytes); }
void *operator new[](std::size_t bytes, std::nothrow_t const &) noexcept { return uform::test::allocate(bytes); }
void *operator new(std::size_t bytes, std::align_val_t alignment) {
    return uform::test::allocate_or_throw(bytes, std::size_t(alignment));
}
void *operator new[](std::size_t bytes, std::align_val_t alignment) {
    return uform::test::allocate_or_throw(bytes, std::size_t(alignment));
}
void *operator new(std::size_t bytes, std::align_val_t alignment, std::nothrow_t const &) noexcept {
    return uform::test::allocate(bytes, std::size_t(alignment));
}
void *operator new[](std::size_t bytes, std::align_val_t alignment, std::nothrow_t const &) noexcept {
    return uform::test::allocate(bytes, std::size_t(alignment));
}
void operator delete(void *memory) noexcept { uform::test::deallocate(memory); }
void operator delete[](void *memory) noexcept { uform::test::deallocate(memory); }
void operator delete(void *memory, std::size_t) noexcept { uform::test::deallocate(memory); }
void operator delete[](void *memory, std::size_t) noexcept { uform::test::deallocate(memory); }
void operator delete(void *memory, std::nothrow_t const &) noexcept { uform::test::deallocate(memory); }
void operator delete[](void *memory, std::nothrow_t const &) noexcept { uform::test::deallocate(memory); }
void operator delete(void *memory, std::align_val_t) noexcept { uform::test::deallocate(memory); }
void operator delete[](void *memory, std::align_val_t) noexcept { uform::test::deallocate(memory); }
void operator delete(void *memory, std::size_t, std::align_val_t) noexcept { uform::test::deallocate(memory); }
void operator delete[](void *memory, std::size_t, std::align_val_t) noexcept { uform::test::deallocate(memory); }
#endif
