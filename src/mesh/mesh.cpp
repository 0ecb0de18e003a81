/**
 *  @file mesh.cpp
 *  @brief Joining a run: the transport opened, its address exchanged through files, all connected, a first barrier.
 */
#include <uform/mesh/mesh.hpp>

#include <uform/mesh/fields.hpp>
#include <uform/types.h>

namespace uform {

failure_t mesh_t::join(mesh_options_t const &options) noexcept {
    index_ = options.index, count_ = options.count;
    if (failure_t const failure = allocate()) return failure;
    if (count_ > 1) return connect(options);
    if (options.progress.callback && !options.progress.callback(1, 1, options.progress.context))
        return fail(uform_status_cancelled_k, "the progress handler stopped the call");
    return {};
}

/** Everything a collective needs: running out later would leave the others waiting. */
failure_t mesh_t::allocate() noexcept {
    std::size_t const slice = (segment_k + count_ - 1) / count_ + 1;
    bool const alone = count_ == 1;
    if (records_.resize(count_) && sizes_.resize(count_) && transfers_.resize(2 * count_) &&
        (alone || staging_.resize(count_ * slice)))
        return {};
    return fail(uform_status_out_of_memory_k, "memory for the mesh is out");
}

failure_t mesh_t::connect(mesh_options_t const &options) noexcept {
    if (failure_t const failure = transport_.open()) return failure;
    fields_t fields;
    fields.add("job", options.job); // first: the only one that an unanswered file is refused for
    fields.add("version", uform_version());
    fields.add("host_domain_count", std::uint64_t(options.count));
    fields.add("multicast_extent", std::uint64_t(options.multicast_extent));
    fields.add("cpu_class", options.cpu_class);
    fields.add("gpu_class", uform_gpu_class_name(uform_gpu_class_unknown_k));
    rendezvous_options_t meet;
    meet.directory = options.directory, meet.index = index_, meet.count = count_, meet.fields = fields.text();
    meet.address = transport_.address(), meet.progress = options.progress;
    meet.deadline_milliseconds = options.deadline_milliseconds;
    rendezvous_t rendezvous;
    if (failure_t const failure = rendezvous.join(meet)) return failure;
    run_ = rendezvous.run();
    auto const address_of = [](void const *met, std::size_t process) {
        return static_cast<rendezvous_t const *>(met)->address(process);
    };
    if (failure_t const failure =
            transport_.connect(index_, count_, options.deadline_milliseconds, address_of, &rendezvous))
        return failure;
    // Once through, everyone has read everyone's file, and the files go with the rendezvous.
    return agree({}, {});
}

} // namespace uform
