/**
 *  @file decompressor.hpp
 *  @brief Zstandard frames into bytes, a chunk at a time; a build without libzstd refuses such files by name.
 */
#pragma once
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace uform::tools {

class decompressor_t {
  public:
    explicit decompressor_t(std::string path);
    decompressor_t(decompressor_t const &) = delete;
    ~decompressor_t();

    /** Whether nothing more comes without more input. */
    bool hungry() const noexcept;
    /** Takes over the next bytes of the file. */
    void feed(std::string bytes);
    /** Appends at most one chunk. */
    void produce(std::string &target);
    /** Refuses a file that ends inside a frame. */
    void finish() const;

  private:
    struct stream_t;
    std::string path_;
    std::unique_ptr<stream_t> stream_;
};

} // namespace uform::tools
