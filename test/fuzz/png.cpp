/**
 *  @file png.cpp
 *  @brief libFuzzer's entry to the reader of PNG files.
 */
#include "picture.hpp"

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const *data, std::size_t size) {
    return uform_fuzz::attack(data, size, uform::image_format_t::png_k);
}
