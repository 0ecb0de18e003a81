/**
 *  @file pictures.cpp
 *  @brief From files or pixels to the values of patches.
 */
#include "pictures.hpp"

#include "cells.hpp"

namespace uform {
namespace {

failure_t out_of_memory() noexcept {
    return fail(uform_status_out_of_memory_k, "memory for decoding a picture is out");
}

/** One picture on its way into patches [tokens, channel, row, column]. */
class patch_writer_t {
    image_entry_t entry_;
    cells_t placed_;
    resampling_t shape_;
    resampler_t resampler_;
    placer_t placer_;
    bf16_t *patches_;
    std::size_t limit_; // values of all patches

  public:
    patch_writer_t(image_entry_t entry, image_header_t const &header, token_grid_t grid, std::size_t tokens,
                   bf16_t *patches) noexcept
        : entry_(entry), placed_(entry, grid, header.orientation), patches_(patches),
          limit_(tokens * entry.token_values()) {
        shape_.width = header.width, shape_.height = header.height, shape_.channels = header.channels;
        shape_.columns = placed_.stored_columns(), shape_.rows = placed_.stored_rows();
    }
    /** Rows may come at the smallest scale that leaves two of their pixels to a cell, either way. */
    std::size_t reduce() noexcept {
        for (std::size_t scale = 8; scale > 1 && shape_.reduction == 1; scale /= 2)
            if (shape_.width / scale >= 2 * shape_.columns && shape_.height / scale >= 2 * shape_.rows)
                shape_.reduction = scale;
        return shape_.reduction;
    }
    [[nodiscard]] bool start() noexcept {
        if (entry_.channels > shape_.channels) cover();
        return placer_.start(placed_) &&
               resampler_.start(shape_, {[](void *self, std::size_t row, double const *values) noexcept {
                                             static_cast<patch_writer_t *>(self)->place(row, values);
                                         },
                                         this});
    }
    void take(std::uint8_t const *row) noexcept { resampler_.take(row); }

  private:
    std::size_t plane() const noexcept { return entry_.patch_side * entry_.patch_side; }
    void place(std::size_t row, double const *levels) noexcept {
        std::size_t const from = placed_.of_row(row), channels = std::min(entry_.channels, shape_.channels);
        for (std::size_t c = 0; c < channels; ++c)
            placer_.place(levels + c * shape_.columns, from + c * plane(), limit_, patches_);
    }
    /** A picture without alpha covers all of its patches. */
    void cover() noexcept {
        bf16_t const opaque = round_to_bf16(1.0f);
        for (std::size_t token = 0; token < limit_; token += entry_.token_values())
            std::fill_n(patches_ + token + shape_.channels * plane(), (entry_.channels - shape_.channels) * plane(),
                        opaque);
    }
};

} // namespace

bool pictures_t::claim(executor_t &executor) noexcept {
    headers_ = executor.wide_lane().claim<image_header_t>(items_.size() + 1);
    grids_ = executor.wide_lane().claim<token_grid_t>(items_.size() + 1);
    return headers_ && grids_;
}

failure_t pictures_t::measure_files(uform_limits_t const &limits, executor_t &executor) noexcept {
    are_files_ = true;
    if (!claim(executor)) return out_of_memory();
    return executor.deal(items_.size(), [&](std::size_t item, lane_t &lane) {
        image_header_t &header = headers_[item] = {};
        failure_t failure = read_image_header(items_[item], limits, header);
        if (failure) return failure.item = item, lane.fail(failure);
        grids_[item] = patch_grid_of(header.upright_height(), header.upright_width(), entry_.patch_side);
    });
}

failure_t pictures_t::measure_pixels(std::size_t const *heights, std::size_t const *widths,
                                     executor_t &executor) noexcept {
    if (!claim(executor)) return out_of_memory();
    for (std::size_t item = 0; item < items_.size(); ++item) {
        image_header_t &header = headers_[item] = {};
        header.width = widths[item], header.height = heights[item];
        grids_[item] = patch_grid_of(header.height, header.width, entry_.patch_side);
    }
    return {};
}

failure_t pictures_t::fill(std::size_t item, std::size_t tokens, bf16_t *patches, stop_t stop) const noexcept {
    image_header_t const &header = headers_[item];
    patch_writer_t writer(entry_, header, grids_[item], tokens, patches);
    std::size_t const reduction = are_files_ && can_reduce(header.format) ? writer.reduce() : 1;
    if (!writer.start()) return out_of_memory();
    struct taker_t {
        patch_writer_t &writer;
        stop_t stop;
    } taker {writer, stop};
    row_sink_t const sink {[](void *self, std::uint8_t const *row) noexcept {
                               taker_t &taker = *static_cast<taker_t *>(self);
                               taker.writer.take(row);
                               return !taker.stop();
                           },
                           &taker};
    if (are_files_) return decode_image(items_[item], header, reduction, sink);
    for (std::size_t row = 0; row < header.height; ++row)
        if (!sink(items_[item].data() + row * header.width * 3))
            return fail(uform_status_cancelled_k, "decoding was stopped");
    return {};
}

} // namespace uform
