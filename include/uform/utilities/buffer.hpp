/**
 *  @file buffer.hpp
 *  @brief An owned, aligned array whose allocation can fail without an exception.
 *
 *  The engine's only way to own memory of run-time size. Elements are trivially copyable and zeroed on allocation; the
 *  64-byte alignment is a cache line and one AVX-512 register.
 */
#pragma once
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

#include <uform/utilities/pages.hpp>

namespace uform {

template <typename element_>
class buffer_t {
    static_assert(std::is_trivially_copyable_v<element_>);
    element_ *data_ = nullptr;
    std::size_t size_ = 0;

  public:
    static constexpr std::size_t alignment_k = 64;

    buffer_t() noexcept = default;
    buffer_t(buffer_t &&other) noexcept
        : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
    buffer_t &operator=(buffer_t &&other) noexcept {
        std::swap(data_, other.data_), std::swap(size_, other.size_);
        return *this;
    }
    ~buffer_t() noexcept { reset(); }

    /** Replaces the contents by `count` zeroed elements; false when memory is out, the buffer then being empty. */
    [[nodiscard]] bool resize(std::size_t count) noexcept {
        reset();
        if (count == 0) return true;
        if (count > std::numeric_limits<std::size_t>::max() / 2 / sizeof(element_)) return false;
        data_ = static_cast<element_ *>(
            ::operator new(count * sizeof(element_), std::align_val_t(alignment_k), std::nothrow));
        if (!data_) return false;
        size_ = count;
        prefer_large_pages(data_, count * sizeof(element_));
        std::memset(static_cast<void *>(data_), 0, count * sizeof(element_));
        return true;
    }
    void reset() noexcept {
        if (data_) ::operator delete(data_, std::align_val_t(alignment_k));
        data_ = nullptr, size_ = 0;
    }

    element_ *data() const noexcept { return data_; }
    std::size_t size() const noexcept { return size_; }
    element_ &operator[](std::size_t i) const noexcept { return data_[i]; }
    std::span<element_> span() const noexcept { return {data_, size_}; }
    element_ *begin() const noexcept { return data_; }
    element_ *end() const noexcept { return data_ + size_; }
};

} // namespace uform
