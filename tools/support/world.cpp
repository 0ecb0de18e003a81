/**
 *  @file world.cpp
 *  @brief The mesh's verb, and a note in its folder.
 */
#include <filesystem>
#include <fstream>

#include "support/error.hpp"
#include "support/files.hpp"
#include "support/interrupt.hpp"
#include "support/world.hpp"

namespace uform::tools {

namespace {

std::string note_of(training_options_t const &options) {
    return options.ranks > 1 ? (std::filesystem::path(options.mesh) / "stop").string() : std::string();
}

} // namespace

void check_world(training_options_t const &options) {
    if (options.ranks == 0) fail_usage("--ranks: must be at least 1");
    if (options.rank >= options.ranks) fail_usage("--rank: {} is not below --ranks, {}", options.rank, options.ranks);
    if (options.ranks > 1 && options.mesh.empty()) fail_usage("--ranks needs --mesh, a folder that every process sees");
    if (options.ranks > 1 && options.minutes)
        fail_usage("--minutes: processes would each measure another number; give --steps");
    if (options.peak < 0) fail_usage("--peak: must be above zero");
}

mesh_t join_world(training_options_t const &options, executor_t const &executor) {
    mesh_t mesh;
    if (options.ranks == 1) return mesh;
    std::error_code failed;
    std::filesystem::create_directories(options.mesh, failed); // where it fails, the mesh says so
    // Of an earlier run: nobody reads it before all have joined.
    if (options.rank == 0) std::filesystem::remove(note_of(options), failed);
    uform_outcome_t outcome = {};
    uform_mesh_bootstrap_t call = {};
    call.mesh = mesh.out(), call.executor = executor.get(), call.outcome = &outcome;
    call.options.host_domain_index = options.rank, call.options.host_domain_count = options.ranks;
    call.options.directory = view(options.mesh), call.options.job = view("uform_base");
    call.options.deadline_milliseconds = options.deadline * 1000;
    call.options.progress = interruptible();
    uform_mesh_bootstrap(&call);
    check(outcome, options.mesh, "; every process needs the same --mesh and --ranks, and a --rank of its own");
    return mesh;
}

stopping_t::stopping_t(training_options_t const &options) : note_(note_of(options)) {}

bool stopping_t::stops_after(std::size_t done) {
    if (note_.empty()) return interrupt_requested();
    if (last_ == 0) std::ifstream(note_) >> last_;
    if (last_ == 0 && interrupt_requested()) {
        last_ = done + 1;
        output_file_t file(note_);
        file.write(fmt::format("{}\n", last_)), file.commit();
    }
    return last_ != 0 && done >= last_;
}

} // namespace uform::tools
