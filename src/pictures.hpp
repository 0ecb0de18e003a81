/**
 *  @file pictures.hpp
 *  @brief Where media and encoder meet: a batch of pictures, as files or as pixels, → grids → patches.
 *
 *  Patches are cells of the resampled picture, turned upright as they are stored, so that no picture is ever copied to
 *  turn it: a cell's place in the grid is its place in the file, mirrored and swapped.
 */
#pragma once
#include <uform/encoder/media_encode.hpp>
#include <uform/media/image.hpp>
#include <uform/media/resample.hpp>
#include <uform/utilities/arguments.hpp>

namespace uform {

class pictures_t {
    image_entry_t entry_;
    tape_t<unsigned char> items_;
    bool are_files_ = false;
    image_header_t *headers_ = nullptr; // [count]
    token_grid_t *grids_ = nullptr;     // [count]

  public:
    pictures_t(image_entry_t entry, tape_t<unsigned char> items) noexcept : entry_(entry), items_(items) {}

    /** Reads all headers over the executor's threads; a failure names its item. Grids stay in the call's scratch. */
    failure_t measure_files(uform_limits_t const &limits, executor_t &executor) noexcept;
    failure_t measure_pixels(std::size_t const *heights, std::size_t const *widths, executor_t &executor) noexcept;
    token_grid_t const *grids() const noexcept { return grids_; }

    /** Decodes, resamples and cuts into patches. */
    failure_t fill(std::size_t item, std::size_t tokens, bf16_t *patches, stop_t stop = {}) const noexcept;
    token_source_t source() noexcept {
        return {[](void *self, std::size_t item, std::size_t tokens, bf16_t *patches, stop_t stop) noexcept {
                    return static_cast<pictures_t const *>(self)->fill(item, tokens, patches, stop);
                },
                this};
    }

  private:
    bool claim(executor_t &executor) noexcept;
};

} // namespace uform
