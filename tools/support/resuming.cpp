/**
 *  @file resuming.cpp
 *  @brief Looks through folders and logs.
 */
#include <filesystem>
#include <optional>

#include <nlohmann/json.hpp>

#include "support/checkpoint_header.hpp"
#include "support/error.hpp"
#include "support/files.hpp"
#include "support/resuming.hpp"

namespace uform::tools {

namespace {

namespace fs = std::filesystem;

/** The steps a checkpoint has taken; nothing where the file is none that a run saved. */
std::optional<std::uint64_t> steps_of(fs::path const &path) {
    std::error_code failed;
    std::string const name = path.filename().string();
    if (!name.ends_with(".safetensors") || name.ends_with(".optimizer.safetensors")) return {};
    if (!fs::is_regular_file(path, failed)) return {};
    try {
        return read_checkpoint_header(path.string()).number("step");
    } catch (tool_error_t const &) {
        return {};
    }
}

} // namespace

bool names_folder(std::string const &output) {
    std::error_code failed;
    return output.ends_with('/') || fs::is_directory(output, failed);
}

std::string output_file_of(std::string const &output) {
    if (!names_folder(output)) return output;
    check_path(output, "--output");
    std::error_code failed;
    fs::create_directories(output, failed);
    if (failed) fail_at(output, 0, "cannot make the folder, {}; choose another place", failed.message());
    return (fs::path(output) / "model.safetensors").string();
}

std::string find_checkpoint(std::string const &output) {
    std::error_code failed;
    if (!names_folder(output)) return fs::exists(output, failed) ? output : std::string();
    std::string newest;
    std::uint64_t highest = 0;
    for (fs::directory_entry const &entry : fs::directory_iterator(output, failed)) {
        std::optional<std::uint64_t> const steps = steps_of(entry.path());
        bool const later = steps && (newest.empty() || *steps > highest);
        // Of equal steps the first by name, as folders list in no order.
        if (later || (steps && *steps == highest && entry.path().string() < newest))
            newest = entry.path().string(), highest = *steps;
    }
    return newest;
}

void cut_log(std::string const &path, std::uint64_t step) {
    std::error_code failed;
    if (path.empty() || path == "-" || !fs::is_regular_file(path, failed)) return;
    std::string kept;
    bool whole = true;
    line_reader_t lines(path);
    for (std::string line; lines.next(line);) {
        nlohmann::json const event = nlohmann::json::parse(line, nullptr, false);
        bool const readable = event.is_object() && (!event.contains("step") || event["step"].is_number_unsigned());
        bool const keeps = readable && event.value("step", std::uint64_t(0)) <= step;
        if (keeps) kept += line + "\n";
        whole &= keeps;
    }
    if (whole) return;
    output_file_t file(path);
    file.write(kept), file.commit();
}

} // namespace uform::tools
