/**
 *  @file pictures.hpp
 *  @brief Pictures without decoders: what a file's header tells of its sides, and how many tokens they make.
 */
#pragma once
#include <cstddef>
#include <string_view>

#include <uform/types.h>

namespace uform_stub {

struct sides_t {
    std::size_t height = 0, width = 0;
};

/** The sides in a JPEG's, PNG's or WebP's header, as stored: how the camera was held is not looked for, nor whether
 *  the pixels are all there. Refuses other content, headers cut short and sides above the limits, naming the item. */
sides_t read_sides(std::string_view file, uform_limits_t const &limits, std::size_t item);

/** Patches of the grid that a picture becomes. */
std::size_t patches_of(sides_t sides, std::size_t patch_side, std::size_t most = 512) noexcept;

} // namespace uform_stub
