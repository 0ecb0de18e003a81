/**
 *  @file checkpoint_header.hpp
 *  @brief The strings a checkpoint says of itself: geometry, step, seed, prefixes.
 *
 *  Reads the JSON header of a safetensors file, and of what follows the length alone: a file that was cut is refused.
 *  Whether its tensors are sound is for the engine.
 */
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace uform::tools {

/** The `__metadata__` of one checkpoint. */
struct checkpoint_header_t {
    std::string path;
    std::map<std::string, std::string, std::less<>> metadata;

    /** The value as a whole number; an absent key or another spelling is a failure that names the file. */
    std::uint64_t number(std::string_view key) const;
    /** The bytes tools put before a text, `query` or `document`; empty where the checkpoint names none. */
    std::string prefix(std::string_view side) const;
};

checkpoint_header_t read_checkpoint_header(std::string const &path);

/** The JSON text between the eight length bytes and the tensors. */
std::string checkpoint_header_text(std::string const &path);

/** Bytes from their spelling in metadata: `\xHH` is a byte, `\\` a backslash, anything else itself. */
std::string unescaped(std::string_view text);

} // namespace uform::tools
