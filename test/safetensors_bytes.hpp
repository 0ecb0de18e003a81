/**
 *  @file safetensors_bytes.hpp
 *  @brief Files of the format built by hand for the tests of its reader, and a folder that removes itself.
 */
#pragma once
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>

#include <unistd.h>

namespace uform_test {

/** The length of `header` (or `length`, to lie about it), the header, the data. */
inline std::string safetensors(std::string const &header, std::string const &data, std::uint64_t length = UINT64_MAX) {
    if (length == UINT64_MAX) length = header.size();
    std::string file;
    for (int i = 0; i < 8; ++i) file += char(length >> (8 * i) & 0xff);
    return file + header + data;
}

inline std::span<std::byte const> bytes_of(std::string const &text) {
    return std::as_bytes(std::span<char const>(text));
}

class folder_t {
    std::filesystem::path path_;

  public:
    folder_t() {
        std::string pattern = (std::filesystem::temp_directory_path() / "uform_test_XXXXXX").string();
        if (mkdtemp(pattern.data())) path_ = pattern;
    }
    folder_t(folder_t const &) = delete;
    folder_t &operator=(folder_t const &) = delete;
    ~folder_t() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    std::string operator/(std::string const &name) const { return (path_ / name).string(); }
    std::size_t count() const {
        return std::size_t(
            std::distance(std::filesystem::directory_iterator(path_), std::filesystem::directory_iterator()));
    }
};

inline void put_file(std::string const &path, std::string const &bytes) {
    std::ofstream(path, std::ios::binary).write(bytes.data(), std::streamsize(bytes.size()));
}
inline std::string get_file(std::string const &path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

} // namespace uform_test
