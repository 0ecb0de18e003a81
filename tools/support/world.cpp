/**
 *  @file world.cpp
 *  @brief The mesh's verb, and notes in its folder.
 */
#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>
#include <unistd.h>

#include "support/agreement.hpp"
#include "support/error.hpp"
#include "support/files.hpp"
#include "support/interrupt.hpp"
#include "support/output_file.hpp"
#include "support/world.hpp"

namespace uform::tools {

using json_t = nlohmann::ordered_json;

namespace {

std::string note_of(training_options_t const &options) {
    return options.ranks > 1 ? (std::filesystem::path(options.mesh) / "stop").string() : std::string();
}

/** What a process wrote of its run, for all others to compare with their own. */
std::string fields_path(training_options_t const &options, std::size_t rank) {
    return (std::filesystem::path(options.mesh) / fmt::format("run-{}", rank)).string();
}

/** All have joined, so all have written, and a file of an earlier run is there no more. On a file server it may be a
 *  moment until another host sees it. */
json_t read_fields(training_options_t const &options, std::size_t rank) {
    std::string const path = fields_path(options, rank);
    for (int looks = 0; looks < 100 && ::access(path.c_str(), R_OK) != 0; ++looks) {
        leave_if_interrupted();
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    json_t fields = json_t::parse(read_file(path), nullptr, false);
    if (!fields.is_object()) fail_at(path, 0, "is not what rank {} wrote of its run; start all again", rank);
    return fields;
}

/** Every process reads all, so that all find the same difference. */
void compare_runs(training_options_t const &options) {
    std::vector<json_t> fields;
    for (std::size_t rank = 0; rank < options.ranks; ++rank) fields.push_back(read_fields(options, rank));
    if (std::string const difference = first_difference(fields); !difference.empty())
        fail("{}: {}, the processes of the run disagree ({}); start all with one mixture, the same data and flags",
             options.mesh, uform_status_name(uform_status_config_mismatch_k), difference);
}

} // namespace

void check_world(training_options_t const &options) {
    if (options.ranks == 0) fail_usage("--ranks: must be at least 1");
    if (options.rank >= options.ranks) fail_usage("--rank: {} is not below --ranks, {}", options.rank, options.ranks);
    if (options.ranks > 1 && options.mesh.empty()) fail_usage("--ranks needs --mesh, a folder that every process sees");
    if (options.ranks > 1 && options.minutes)
        fail_usage("--minutes: processes would each measure another number; give --steps");
}

mesh_t join_world(training_options_t const &options, executor_t const &executor, json_t const &fields) {
    mesh_t mesh;
    if (options.ranks == 1) return mesh;
    std::error_code failed;
    std::filesystem::create_directories(options.mesh, failed); // where it fails, the mesh says so
    // Of an earlier run: nobody reads it before all have joined.
    if (options.rank == 0) std::filesystem::remove(note_of(options), failed);
    remove_leftovers(note_of(options), {"tmp"}), remove_leftovers(fields_path(options, options.rank), {"tmp"});
    {
        output_file_t file(fields_path(options, options.rank));
        file.write(fields.dump(1) + "\n"), file.commit();
    }
    uform_outcome_t outcome = {};
    uform_mesh_bootstrap_t call = {};
    call.mesh = mesh.out(), call.executor = executor.get(), call.outcome = &outcome;
    call.options.host_domain_index = options.rank, call.options.host_domain_count = options.ranks;
    call.options.directory = view(options.mesh), call.options.job = view("uform_base");
    call.options.deadline_milliseconds = options.deadline * 1000;
    call.options.progress = interruptible();
    uform_mesh_bootstrap(&call);
    if (uform_outcome_status(&outcome) != uform_status_success_k) settle_world(options);
    check(outcome, options.mesh, "; every process needs the same --mesh and --ranks, and a --rank of its own");
    compare_runs(options);
    return mesh;
}

void settle_world(training_options_t const &options) noexcept {
    std::error_code failed;
    if (options.ranks == 1) return;
    std::filesystem::remove(fields_path(options, options.rank), failed);
    for (std::size_t rank = options.ranks; options.rank == 0; ++rank) // of a wider run that was refused
        if (!std::filesystem::remove(fields_path(options, rank), failed)) break;
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
