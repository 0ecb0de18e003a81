/**
 *  @file checkpoint.cpp
 *  @brief Opening a checkpoint: where its bytes come from, how they are aligned, whether its weights are finite.
 *
 *  What the header may say is checked in checkpoint_header.cpp.
 */
#include <uform/utilities/checkpoint.hpp>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "checkpoint_header.hpp"

namespace uform {
namespace {

/** The header's length, checked against what follows it. */
failure_t check_length(std::uint64_t header_bytes, std::size_t file_bytes) noexcept {
    if (header_bytes > file_bytes - header_start_k)
        return fail(uform_status_malformed_k, "checkpoint header passes the end of the file",
                    "header of %llu bytes, file of %zu", static_cast<unsigned long long>(header_bytes), file_bytes);
    if (header_bytes > checkpoint_t::header_limit_k)
        return fail(uform_status_malformed_k, "checkpoint header is too large", "%llu bytes, at most %zu",
                    static_cast<unsigned long long>(header_bytes), checkpoint_t::header_limit_k);
    return {};
}

failure_t check_size(std::size_t file_bytes) noexcept {
    if (file_bytes >= header_start_k) return {};
    return fail(uform_status_malformed_k, "not a checkpoint: too short", "%zu bytes", file_bytes);
}

std::uint64_t length_of(std::byte const *bytes) noexcept {
    std::uint64_t length = 0;
    for (std::size_t i = header_start_k; i-- > 0;) length = length << 8 | std::uint64_t(bytes[i]);
    return length;
}

/** Scans a block without branches, so that compilers vectorize it; the exponent of infinities and NaN is all ones. */
template <typename bits_, bits_ exponent_>
std::size_t first_non_finite(bits_ const *values, std::size_t count) noexcept {
    constexpr std::size_t block_k = 4096;
    for (std::size_t first = 0; first < count; first += block_k) {
        std::size_t const last = std::min(count, first + block_k);
        bits_ found = 0;
        for (std::size_t i = first; i < last; ++i) found |= bits_((values[i] & exponent_) == exponent_);
        if (!found) continue;
        for (std::size_t i = first; i < last; ++i)
            if ((values[i] & exponent_) == exponent_) return i;
    }
    return count;
}

} // namespace

std::size_t first_non_finite(tensor_t const &tensor) noexcept {
    // Both integers may alias the bytes of a file: nothing in the process ever wrote them as floats.
    if (tensor.dtype == dtype_t::f32_k)
        return first_non_finite<std::uint32_t, 0x7f800000u>(reinterpret_cast<std::uint32_t const *>(tensor.data.data()),
                                                            tensor.elements());
    return first_non_finite<std::uint16_t, 0x7f80u>(reinterpret_cast<std::uint16_t const *>(tensor.data.data()),
                                                    tensor.elements());
}

failure_t refuse_non_finite(tensor_t const &tensor) noexcept {
    std::size_t const index = first_non_finite(tensor);
    if (index == tensor.elements()) return {};
    float const value = tensor.dtype == dtype_t::f32_k ? tensor.f32()[index] : widen(tensor.bf16()[index]);
    return fail(uform_status_malformed_k, "a tensor holds a value that is not finite", "tensor '%s': element %zu is %g",
                shown_text_t(tensor.name).text, index, double(value));
}

shown_shape_t::shown_shape_t(std::span<std::size_t const> shape) noexcept {
    std::size_t used = std::size_t(std::snprintf(text, sizeof(text), "["));
    for (std::size_t axis = 0; axis < shape.size() && axis < 3; ++axis)
        used += std::size_t(std::snprintf(text + used, sizeof(text) - used, axis ? ", %zu" : "%zu", shape[axis]));
    std::snprintf(text + used, sizeof(text) - used, shape.size() > 3 ? ", ...]" : "]");
}

failure_t checkpoint_t::open(std::string_view path) noexcept {
    *this = checkpoint_t();
    checkpoint_t opened;
    std::byte length[header_start_k] = {};
    if (failure_t const failure = opened.file_.open(path)) return failure;
    if (failure_t const failure = check_size(opened.file_.size())) return failure;
    if (failure_t const failure = opened.file_.peek(0, length)) return failure;
    std::uint64_t const header_bytes = length_of(length);
    if (failure_t const failure = check_length(header_bytes, opened.file_.size())) return failure;
    std::size_t const data_start = header_start_k + std::size_t(header_bytes);
    if (failure_t const failure = opened.file_.map()) return failure;
    // The header is judged before misaligned data are read, so that a bad one never costs more than its own length.
    if (failure_t const failure = header_reader_t(opened).read(opened.file_.bytes(), header_bytes)) return failure;
    if (data_start % data_alignment_k != 0) {
        if (failure_t const failure = opened.file_.read(data_start)) return failure;
        if (failure_t const failure = header_reader_t(opened).read(opened.file_.bytes(), header_bytes)) return failure;
    }
    *this = std::move(opened);
    return {};
}

failure_t checkpoint_t::from_bytes(std::span<std::byte const> bytes) noexcept {
    *this = checkpoint_t();
    checkpoint_t opened;
    if (failure_t const failure = check_size(bytes.size())) return failure;
    std::uint64_t const header_bytes = length_of(bytes.data());
    if (failure_t const failure = check_length(header_bytes, bytes.size())) return failure;
    std::size_t const data_start = header_start_k + std::size_t(header_bytes);
    if (failure_t const failure = header_reader_t(opened).read(bytes, header_bytes)) return failure;
    if (reinterpret_cast<std::uintptr_t>(bytes.data() + data_start) % data_alignment_k != 0) {
        std::size_t const lead = (64 - data_start % 64) % 64;
        if (!opened.copy_.resize(lead + bytes.size()))
            return fail(uform_status_out_of_memory_k, "no memory to align a checkpoint");
        std::memcpy(opened.copy_.data() + lead, bytes.data(), bytes.size());
        bytes = opened.copy_.span().subspan(lead);
        if (failure_t const failure = header_reader_t(opened).read(bytes, header_bytes)) return failure;
    }
    *this = std::move(opened);
    return {};
}

tensor_t const *checkpoint_t::find(std::string_view name) const noexcept {
    auto const found =
        std::find_if(tensors_.begin(), tensors_.end(), [&](tensor_t const &t) { return t.name == name; });
    return found == tensors_.end() ? nullptr : found;
}

std::optional<std::string_view> checkpoint_t::metadata(std::string_view key) const noexcept {
    for (metadata_t const &entry : metadata_)
        if (entry.key == key) return entry.value;
    return std::nullopt;
}

} // namespace uform
