/**
 *  @file collectives.cpp
 *  @brief Agreements, gathers and sums over a run's processes, each with an epoch of its own.
 *
 *  Modelled by `verification/reduction.pml`.
 */
#include <uform/mesh/mesh.hpp>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include <uform/mesh/fields.hpp>

namespace uform {
namespace {

char const *name_of(moment_t moment) noexcept {
    switch (moment) {
    case moment_t::join_k:
        return "joining";
    case moment_t::start_k:
        return "starting a trainer";
    case moment_t::fields_k:
        return "comparing options";
    case moment_t::arguments_k:
        return "starting a step";
    case moment_t::planned_k:
        return "planning a step";
    case moment_t::shared_k:
        return "sharing rows";
    case moment_t::computed_k:
        return "summing gradients";
    }
    return "something unknown";
}

/** An item's content is an argument of its process alone, while a loss that is not finite, `malformed` as well, is of all. */
std::int32_t status_to_tell(failure_t const &failure) noexcept {
    bool const is_of_item = failure.status == uform_status_malformed_k && failure.item != failure_t::no_item_k;
    return is_of_item ? uform_status_config_mismatch_k : failure.status;
}

/** What is wrong with one process's arguments is a mismatch to the others; what befell it befell the run. */
status_t status_for_others(std::int32_t status) noexcept {
    switch (status) {
    case uform_status_invalid_argument_k:
    case uform_status_unsupported_k:
    case uform_status_shape_mismatch_k:
    case uform_status_unsupported_layout_k:
    case uform_status_unknown_kind_k:
        return uform_status_config_mismatch_k;
    default:
        return status > 0 && status <= uform_status_invalid_argument_k ? status : uform_status_internal_k;
    }
}

} // namespace

failure_t mesh_t::agree(statement_t const &mine, failure_t const &failure) noexcept {
    record_t &record = records_[index_];
    record = {};
    record.run = run_, record.epoch = ++epoch_, record.statement = mine, record.status = status_to_tell(failure);
    std::snprintf(record.text, sizeof(record.text), "%s%s%.200s", failure.message, failure.detail[0] ? ": " : "",
                  failure.detail);
    if (count_ == 1) return failure;
    if (failure_t const broken = exchange_records()) return failure ? failure : broken;
    return failure ? failure : judge_records();
}

failure_t mesh_t::exchange_records() noexcept {
    std::size_t used = 0;
    for (std::size_t peer = 0; peer < count_; ++peer) {
        if (peer == index_) continue;
        transfers_[used++] = {direction_t::receive_k, peer, tag(0), &records_[peer], sizeof(record_t)};
        transfers_[used++] = {direction_t::send_k, peer, tag(0), &records_[index_], sizeof(record_t)};
    }
    return transport_.exchange({transfers_.data(), used});
}

/** All processes read the same records, so all come to the same verdict. */
failure_t mesh_t::judge_records() const noexcept {
    for (std::size_t peer = 0; peer < count_; ++peer) {
        record_t const &record = records_[peer];
        if (record.status == uform_status_success_k) continue;
        int const length = int(::strnlen(record.text, sizeof(record.text)));
        return fail(status_for_others(record.status), "another process of the run refused", "rank %zu: %.*s", peer,
                    std::min(length, 230), record.text);
    }
    record_t const &first = records_[0];
    for (std::size_t peer = 1; peer < count_; ++peer) {
        record_t const &record = records_[peer];
        auto const differ = [&](char const *field, std::uint64_t a, std::uint64_t b) {
            return fail(uform_status_config_mismatch_k, "the processes of the run are not at the same point",
                        "%s: rank 0 has %llu, rank %zu has %llu", field, (unsigned long long)a, peer,
                        (unsigned long long)b);
        };
        if (record.run != first.run) return differ("run", first.run, record.run);
        if (record.epoch != first.epoch) return differ("epoch", first.epoch, record.epoch);
        if (record.statement.moment != first.statement.moment)
            return fail(uform_status_config_mismatch_k, "the processes of the run are not at the same point",
                        "call: rank 0 is %s, rank %zu is %s", name_of(first.statement.moment), peer,
                        name_of(record.statement.moment));
        if (record.statement.step != first.statement.step)
            return differ("step", first.statement.step, record.statement.step);
        if (record.statement.trail != first.statement.trail)
            return differ("bits of the last step", first.statement.trail, record.statement.trail);
    }
    return {};
}

std::uint64_t mesh_t::sum_sizes(std::size_t which, std::size_t processes) const noexcept {
    std::uint64_t sum = 0;
    for (std::size_t process = 0; process < processes; ++process) sum += size_of(process, which);
    return sum;
}

double mesh_t::sum_of_partials(std::size_t which) const noexcept {
    double sum = 0;
    for (std::size_t process = 0; process < count_; ++process) sum += records_[process].statement.partials[which];
    return sum;
}

failure_t mesh_t::gather(std::span<std::byte const> mine, std::size_t const *sizes, std::byte *all) noexcept {
    ++epoch_;
    std::size_t used = 0, offset = 0;
    for (std::size_t peer = 0; peer < count_; offset += sizes[peer++]) {
        if (peer == index_) { // which may lie in its place already
            if (!mine.empty()) std::memmove(all + offset, mine.data(), mine.size());
            continue;
        }
        transfers_[used++] = {direction_t::receive_k, peer, tag(0), all + offset, sizes[peer]};
        transfers_[used++] = {direction_t::send_k, peer, tag(0), const_cast<std::byte *>(mine.data()), mine.size()};
    }
    return count_ == 1 ? failure_t {} : transport_.exchange({transfers_.data(), used});
}

failure_t mesh_t::sum(std::span<float> values) noexcept {
    if (count_ == 1) return {};
    for (std::size_t first = 0; first < values.size(); first += segment_k)
        if (failure_t const failure = sum_segment(values.subspan(first, std::min(segment_k, values.size() - first))))
            return failure;
    return {};
}

/** Each process sums one slice of the segment from everybody's values, then hands it to everybody. */
failure_t mesh_t::sum_segment(std::span<float> values) noexcept {
    ++epoch_;
    std::size_t const stride = staging_.size() / count_;
    auto const slice = [&](std::size_t process) {
        std::size_t const first = values.size() * process / count_, last = values.size() * (process + 1) / count_;
        return values.subspan(first, last - first);
    };
    std::span<float> const ours = slice(index_);
    std::size_t used = 0;
    for (std::size_t peer = 0; peer < count_; ++peer) {
        if (peer == index_) continue;
        std::span<float> const theirs = slice(peer);
        transfers_[used++] = {direction_t::receive_k, peer, tag(1), staging_.data() + peer * stride, ours.size_bytes()};
        transfers_[used++] = {direction_t::send_k, peer, tag(1), theirs.data(), theirs.size_bytes()};
    }
    if (failure_t const failure = transport_.exchange({transfers_.data(), used})) return failure;
    add_in_order(ours);
    for (std::size_t i = 0; i < used; ++i) {
        transfer_t &transfer = transfers_[i];
        std::span<float> const part = transfer.direction == direction_t::send_k ? ours : slice(transfer.peer);
        transfer.tag = tag(2), transfer.data = part.data(), transfer.bytes = part.size_bytes();
    }
    return transport_.exchange({transfers_.data(), used});
}

/** The slice becomes the sum of everybody's, rank by rank; ours joins where its rank has its turn. */
void mesh_t::add_in_order(std::span<float> slice) noexcept {
    constexpr std::size_t block_k = 1024;
    std::size_t const stride = staging_.size() / count_;
    float sums[block_k];
    for (std::size_t first = 0; first < slice.size(); first += block_k) {
        std::size_t const length = std::min(block_k, slice.size() - first);
        for (std::size_t process = 0; process < count_; ++process) {
            float const *const values = (process == index_ ? slice.data() : staging_.data() + process * stride) + first;
            if (process == 0)
                std::copy_n(values, length, sums);
            else
                for (std::size_t i = 0; i < length; ++i) sums[i] += values[i];
        }
        std::copy_n(sums, length, slice.data() + first);
    }
}

failure_t mesh_t::agree_on_fields(std::string_view fields) noexcept {
    if (count_ == 1) return {};
    statement_t statement;
    statement.moment = moment_t::fields_k, statement.sizes[0] = fields.size();
    buffer_t<std::byte> all;
    if (failure_t const failure = agree(statement, {})) return failure;
    for (std::size_t process = 0; process < count_; ++process) sizes_[process] = std::size_t(size_of(process, 0));
    failure_t ready;
    if (!all.resize(std::size_t(size_of_all(0))))
        ready = fail(uform_status_out_of_memory_k, "memory for the mesh is out");
    if (failure_t const failure = agree(statement, ready)) return failure;
    if (failure_t const failure = gather(std::as_bytes(std::span(fields)), sizes_.data(), all.data())) return failure;
    char const *at = reinterpret_cast<char const *>(all.data());
    stated_t const first {0, {at, sizes_[0]}};
    for (std::size_t process = 0; process < count_; at += sizes_[process++])
        if (failure_t const failure = compare_fields(first, {process, {at, sizes_[process]}})) return failure;
    return {};
}

} // namespace uform
