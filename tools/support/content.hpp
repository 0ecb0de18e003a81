/**
 *  @file content.hpp
 *  @brief A number for the content of a source, by which processes tell that theirs are not the same.
 */
#pragma once
#include <cstdint>
#include <cstring>
#include <string_view>

namespace uform::tools {

/** Of lines one after the other. FNV-1a over words of eight bytes: tells contents apart, not forgeries. */
class content_t {
  public:
    void add(std::string_view line) noexcept {
        mix(line.size());
        for (; !line.empty(); line.remove_prefix(line.size() < 8 ? line.size() : 8)) {
            std::uint64_t word = 0;
            std::memcpy(&word, line.data(), line.size() < 8 ? line.size() : 8);
            mix(word);
        }
    }
    std::uint64_t value() const noexcept { return hash_; }

  private:
    void mix(std::uint64_t word) noexcept { hash_ = (hash_ ^ word) * 0x100000001b3u, hash_ ^= hash_ >> 29; }

    std::uint64_t hash_ = 0xcbf29ce484222325u;
};

} // namespace uform::tools
