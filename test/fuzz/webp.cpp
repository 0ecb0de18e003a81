/**
 *  @file webp.cpp
 *  @brief libFuzzer's entry to the reader of WebP files.
 */
#include "picture.hpp"

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const *data, std::size_t size) {
    return uform_fuzz::attack(data, size, uform::image_format_t::webp_k);
}
