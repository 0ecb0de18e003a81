/**
 *  @file entry.cpp
 *  @brief The grid of a picture or of a frame, in whole numbers: no square root may round two machines apart.
 */
#include <uform/encoder/entry.hpp>

namespace uform {

token_grid_t patch_grid_of(std::size_t height, std::size_t width, std::size_t patch_side, std::size_t most) noexcept {
    std::size_t const square = most * height / width; // ⌊√x⌋ = ⌊√⌊x⌋⌋
    std::size_t rows = 1;
    while (rows < most && (rows + 1) * (rows + 1) <= square) ++rows;
    rows = std::min(rows, (height + patch_side - 1) / patch_side);
    std::size_t const columns = std::min(most / rows, (width + patch_side - 1) / patch_side);
    return {rows, columns};
}

} // namespace uform
