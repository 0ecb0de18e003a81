/**
 *  @file decoded_pixels.cpp
 *  @brief Decodes the files named on its input, one a line, for pillow_test.py to compare: each line is a reduction and
 *  a path; each answer is a line of status, width, height, channels and orientation, then the rows' bytes.
 */
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include <uform/media/image.hpp>
#include <uform/types.h>

int main() {
    std::string line;
    while (std::getline(std::cin, line)) {
        std::size_t const reduction = std::size_t(line[0] - '0');
        std::ifstream file(line.substr(2), std::ios::binary);
        std::vector<char> const bytes {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
        uform::file_t const view(reinterpret_cast<std::uint8_t const *>(bytes.data()), bytes.size());
        uform::image_header_t header;
        struct rows_t {
            std::size_t bytes;
            std::string all;
        } rows {};
        uform::failure_t failure = read_image_header(view, {}, header);
        std::size_t const columns = (header.width + reduction - 1) / reduction;
        rows.bytes = columns * header.channels;
        uform::row_sink_t const sink {[](void *self, std::uint8_t const *row) noexcept {
                                          rows_t &rows = *static_cast<rows_t *>(self);
                                          rows.all.append(reinterpret_cast<char const *>(row), rows.bytes);
                                          return true;
                                      },
                                      &rows};
        if (!failure) failure = decode_image(view, header, reduction, sink);
        if (failure) rows.all.clear();
        std::printf("%s %zu %zu %zu %d %zu\n", uform_status_name(failure.status), header.width, header.height,
                    header.channels, int(header.orientation.number), rows.all.size());
        std::fwrite(rows.all.data(), 1, rows.all.size(), stdout);
    }
    return 0;
}
