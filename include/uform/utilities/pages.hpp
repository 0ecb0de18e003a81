/**
 *  @file pages.hpp
 *  @brief Large pages for large memory.
 *
 *  Weights, activations and gradients are walked in strides of kilobytes, over more 4 KiB pages than a core remembers
 *  translations for. Systems set to `madvise`, as Debian is, give pages of 2 MiB only where they are asked to.
 */
#pragma once
#include <cstddef>

namespace uform {

/** Asks for large pages where `bytes` bytes at `memory`, not yet touched, are 16 MiB or more: a wish, never a demand. What
 *  is shorter keeps small pages, of which only those that are touched count as memory in use. */
void prefer_large_pages(void *memory, std::size_t bytes) noexcept;

} // namespace uform
