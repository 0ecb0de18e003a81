/**
 *  @file arithmetic.hpp
 *  @brief The floating-point mode that a verb computes under, whatever its caller's.
 *
 *  A host may have asked for another rounding, for denormals as zeros (`-ffast-math` does, at start), or for traps; a
 *  thread inherits all of that from whoever made it. The same bits from every thread need one mode: to nearest even,
 *  denormals kept, nothing trapped. The flags that a host reads its own exceptions from come back as they were.
 *  Where the processor's control register is not known here, the mode is left alone.
 */
#pragma once
#include <cstdint>

namespace uform {

/** Sets the default mode on this thread, and its old one when it goes. */
class default_arithmetic_t {
  public:
    default_arithmetic_t() noexcept : before_(read()) { write(default_k); }
    ~default_arithmetic_t() noexcept { write(before_); }
    default_arithmetic_t(default_arithmetic_t const &) = delete;
    default_arithmetic_t &operator=(default_arithmetic_t const &) = delete;

  private:
    // "memory" keeps loads and stores of what is computed on their side of the change.
#if defined(__x86_64__)
    struct mode_t {
        std::uint32_t vectors; // MXCSR
        std::uint16_t x87;     // which computes nothing here, but `fesetround` sets both, and both should agree
    };
    static constexpr mode_t default_k {0x1f80, 0x037f}; // all exceptions masked
    static mode_t read() noexcept {
        mode_t mode;
        __asm__ volatile("stmxcsr %0\n\tfnstcw %1" : "=m"(mode.vectors), "=m"(mode.x87)::"memory");
        return mode;
    }
    static void write(mode_t mode) noexcept {
        __asm__ volatile("ldmxcsr %0\n\tfldcw %1" ::"m"(mode.vectors), "m"(mode.x87) : "memory");
    }
#elif defined(__aarch64__)
    struct mode_t {
        std::uint64_t control, flags;
    };
    static constexpr mode_t default_k {0, 0};
    static mode_t read() noexcept {
        mode_t mode;
        __asm__ volatile("mrs %0, fpcr\n\tmrs %1, fpsr" : "=r"(mode.control), "=r"(mode.flags)::"memory");
        return mode;
    }
    static void write(mode_t mode) noexcept {
        __asm__ volatile("msr fpcr, %0\n\tmsr fpsr, %1" ::"r"(mode.control), "r"(mode.flags) : "memory");
    }
#else
    struct mode_t {};
    static constexpr mode_t default_k {};
    static mode_t read() noexcept { return {}; }
    static void write(mode_t) noexcept {}
#endif
    mode_t before_;
};

} // namespace uform
