/**
 *  @file absent.cpp
 *  @brief The link of a build without UCX: a run of one process needs none, a larger one is refused as it opens.
 */
#include "mesh/link.hpp"

namespace uform {

failure_t link_t::open(hear_t, void *) noexcept {
    return fail(uform_status_unsupported_k, "this build joins no processes",
                "it was built without UCX: install libucx-dev and build again");
}
std::span<std::byte const> link_t::address() const noexcept { return {}; }
failure_t link_t::reserve(std::size_t) noexcept { return open(nullptr, nullptr); }
failure_t link_t::connect(std::size_t, std::span<std::byte const>) noexcept { return open(nullptr, nullptr); }
char const *link_t::lost(std::size_t) const noexcept { return "there is no UCX"; }
link_t::message_t link_t::post(std::size_t, transfer_t const &) noexcept { return {nullptr, "there is no UCX"}; }
void link_t::look(message_t &, transfer_t const &) noexcept {}
void link_t::cancel(message_t &) noexcept {}
void link_t::notify(std::size_t, notice_t const &) noexcept {}
bool link_t::notices_under_way() noexcept { return false; }
bool link_t::progress() noexcept { return false; }
void link_t::sleep(int) noexcept {}
void link_t::disconnect(int) noexcept {}
void link_t::close() noexcept {}

} // namespace uform
