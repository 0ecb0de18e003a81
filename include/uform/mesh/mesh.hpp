/**
 *  @file mesh.hpp
 *  @brief The processes of a run as one: joined once, then barriers that agree, gathers of uneven shares, ordered sums.
 *
 *  Every process calls the same collectives in the same order; ranks are `host_domain_index`. All of them exchange
 *  directly, each process with each other one, so that whoever is missing is waited for by everybody and named by
 *  everybody. A mesh of one process answers at once and needs no transport.
 *
 *  Sums add rank 0's values first, then rank 1's, and so on, whatever the order of arrival: the bits are the same in
 *  every process and every repetition. Knows no model: the trainer says what is gathered and summed.
 */
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include <uform/mesh/rendezvous.hpp>
#include <uform/mesh/transport.hpp>
#include <uform/utilities/buffer.hpp>
#include <uform/utilities/hold.hpp>
#include <uform/utilities/status.hpp>

namespace uform {

struct mesh_options_t {
    std::size_t index = 0;
    std::size_t count = 1;
    std::size_t multicast_extent = 0;
    std::string_view directory, job; // borrowed while it joins
    std::size_t deadline_milliseconds = 60000;
    uform_progress_t progress {};
    char const *cpu_class = ""; // what this process computes with, by name
};

/** What a process is about to do. All must be at the same one, or the call fails everywhere. */
enum class moment_t : std::uint32_t { join_k, start_k, fields_k, arguments_k, planned_k, shared_k, computed_k };

/** What a process states at an agreement beside its status. */
struct statement_t {
    static constexpr std::size_t sizes_k = 11;
    moment_t moment = moment_t::join_k;
    std::uint64_t step = 0;            // must be the same everywhere
    std::uint64_t trail = 0;           // of what came before, such as the last step's bits: must be the same too
    std::uint64_t sizes[sizes_k] = {}; // of this process's share, for the others to read
    static constexpr std::size_t partials_k = 5;
    double partials[partials_k] = {}; // of sums over the world
};

class mesh_t {
  public:
    mesh_t() noexcept = default;
    mesh_t(mesh_t const &) = delete;
    mesh_t &operator=(mesh_t const &) = delete;

    [[nodiscard]] failure_t join(mesh_options_t const &options) noexcept;
    std::size_t index() const noexcept { return index_; }
    std::size_t count() const noexcept { return count_; }

    /**
     *  A barrier with an epoch. Fails everywhere where one process brings a failure: there with that failure,
     *  elsewhere naming the lowest rank that failed and its words. A refusal of arguments reaches the others as
     *  `config_mismatch`.
     */
    [[nodiscard]] failure_t agree(statement_t const &mine, failure_t const &failure) noexcept;
    /** What a process stated at the last agreement. */
    std::uint64_t size_of(std::size_t process, std::size_t which) const noexcept {
        return records_[process].statement.sizes[which];
    }
    /** The same, summed over all processes, or over those before this one. */
    std::uint64_t size_of_all(std::size_t which) const noexcept { return sum_sizes(which, count_); }
    std::uint64_t size_before(std::size_t which) const noexcept { return sum_sizes(which, index_); }
    /** The sum of all processes' partials, rank by rank. */
    double sum_of_partials(std::size_t which) const noexcept;

    /** `all` receives every process's bytes, in the order of ranks; `sizes` [count] as agreed, any may be zero. */
    [[nodiscard]] failure_t gather(std::span<std::byte const> mine, std::size_t const *sizes, std::byte *all) noexcept;
    /** Every process's values become the sum of all, rank by rank. */
    [[nodiscard]] failure_t sum(std::span<float> values) noexcept;
    /** Compares lines of `fields_t` with those of rank 0; `config_mismatch` everywhere where one differs. */
    [[nodiscard]] failure_t agree_on_fields(std::string_view fields) noexcept;

    /** Calls that use the mesh take turns. */
    lock_t &lock() noexcept { return lock_; }
    std::uint64_t epoch() const noexcept { return epoch_; }

  private:
    /** What travels at an agreement. */
    struct record_t {
        std::uint64_t run, epoch;
        statement_t statement;
        std::int32_t status;
        char text[256]; // of a failure: its message and its detail
    };
    static constexpr std::size_t segment_k = std::size_t(1) << 19; // floats summed together: 2 MiB of staging

    failure_t connect(mesh_options_t const &options) noexcept;
    failure_t allocate() noexcept;
    failure_t exchange_records() noexcept;
    failure_t judge_records() const noexcept;
    failure_t sum_segment(std::span<float> values) noexcept;
    void add_in_order(std::span<float> slice) noexcept;
    std::uint64_t sum_sizes(std::size_t which, std::size_t processes) const noexcept;
    std::uint64_t tag(std::uint64_t part) const noexcept { return (epoch_ << 2 | part) & 0xFFFFFFFFFFFFu; }

    std::size_t index_ = 0, count_ = 1;
    std::uint64_t run_ = 0;   // the same in all processes of this run
    std::uint64_t epoch_ = 0; // collectives so far: a late message of one is not taken for another's
    buffer_t<record_t> records_;
    buffer_t<transfer_t> transfers_; // [2 count]
    buffer_t<std::size_t> sizes_;    // [count]
    buffer_t<float> staging_;        // [count, segment_k / count]
    transport_t transport_;
    lock_t lock_;
};

} // namespace uform
