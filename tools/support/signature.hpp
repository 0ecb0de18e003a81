/**
 *  @file signature.hpp
 *  @brief Which verb encodes a file: its first bytes decide, never its name.
 */
#pragma once
#include <cstddef>
#include <optional>
#include <string_view>

#include <uform/model.h>

namespace uform::tools {

inline constexpr std::size_t signature_bytes_k = 512; // what is looked at, of any format

/** The modality of a medium's signature; none where the bytes are no medium's. `head` is a file's beginning. */
std::optional<uform_modality_t> modality_of(std::string_view head) noexcept;

/** Whether a file that begins so may be of a modality: what no decoder of it would take need not be read whole. */
bool may_be(std::string_view head, uform_modality_t modality) noexcept;

/** Whether a file begins as a tar archive that says so, as all but those of 1979 do. */
bool is_tar(std::string_view head) noexcept;

/** Whether bytes read as text: UTF-8 without a NUL. */
bool is_text(std::string_view bytes) noexcept;

} // namespace uform::tools
