/**
 *  @file checkpoint_header.hpp
 *  @brief Inside the checkpoint's reader: from the header's JSON to a table of checked tensors.
 */
#pragma once
#include <uform/utilities/checkpoint.hpp>

namespace uform {

inline constexpr std::size_t header_start_k = 8;   // bytes of the header's length
inline constexpr std::size_t data_alignment_k = 4; // of the start of the data: an F32

/** Fills a checkpoint's tables; the checkpoint is thrown away where this fails. */
class header_reader_t {
    checkpoint_t &target_;
    std::span<std::byte const> data_;
    std::size_t text_used_ = 0;

  public:
    explicit header_reader_t(checkpoint_t &target) noexcept : target_(target) {}
    failure_t read(std::span<std::byte const> file, std::uint64_t header_bytes) noexcept;

  private:
    failure_t read_members(json_value_t root) noexcept;
    failure_t read_metadata(json_value_t metadata) noexcept;
    failure_t read_tensor(std::string_view name, json_value_t entry, tensor_t &tensor) noexcept;
    failure_t read_span(json_value_t offsets, tensor_t &tensor) const noexcept;
    failure_t check_layout() noexcept;
    std::string_view keep(std::string_view text) noexcept;
};

} // namespace uform
