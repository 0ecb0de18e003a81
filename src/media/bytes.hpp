/**
 *  @file bytes.hpp
 *  @brief How files are read without a library: every step checks that what it reads is there.
 */
#pragma once
#include <algorithm>
#include <initializer_list>

#include <uform/media/file.hpp>

namespace uform {

/** A walk's steps, each of them too short to ask whether to stop. */
class steps_t {
    stop_t stop_;
    std::size_t count_ = 0, interval_;

  public:
    explicit steps_t(stop_t stop, std::size_t interval = 1 << 16) noexcept : stop_(stop), interval_(interval) {}
    bool stopped() noexcept { return ++count_ % interval_ == 0 && stop_(); }
};

/** Whether `count` bytes from `at` on are there. */
inline bool has(file_t file, std::size_t at, std::size_t count) noexcept {
    return at <= file.size() && count <= file.size() - at;
}

/** An unsigned number of up to eight bytes, the highest first; bytes that are not there count as zero. */
inline std::uint64_t number(file_t file, std::size_t at, std::size_t count) noexcept {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < count; ++i) value = value << 8 | (has(file, at, i + 1) ? file[at + i] : 0u);
    return value;
}

/** True where the file has this signature at `at`, or ends before it could differ: it is that format's, cut short. */
inline bool starts_with(file_t file, std::size_t at, std::initializer_list<std::uint8_t> signature) noexcept {
    if (file.size() <= at) return true;
    std::size_t const count = std::min(signature.size(), file.size() - at);
    return std::equal(signature.begin(), signature.begin() + count, file.begin() + std::ptrdiff_t(at));
}

} // namespace uform
