/**
 *  @file resuming.cpp
 *  @brief Looks through folders and logs.
 */
#include <filesystem>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "support/error.hpp"
#include "support/files.hpp"
#include "support/output_file.hpp"
#include "support/resuming.hpp"

namespace uform::tools {

namespace {

namespace fs = std::filesystem;

constexpr char const *own_name_k = "model.safetensors"; // in a folder of the run's own

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
    return (fs::path(output) / own_name_k).string();
}

std::string find_checkpoint(std::string const &output) {
    fs::path const file = names_folder(output) ? fs::path(output) / own_name_k : fs::path(output);
    std::error_code failed;
    return fs::symlink_status(file, failed).type() == fs::file_type::not_found ? std::string() : file.string();
}

bool has_moments(std::string const &checkpoint, std::uint64_t step) {
    fs::path const path(checkpoint);
    std::error_code failed;
    return fs::exists(path.parent_path() / fmt::format("{}.{}.optimizer.safetensors", path.stem().string(), step),
                      failed);
}

bool names_moments_of(std::string const &checkpoint, std::string const &file) {
    fs::path const own(checkpoint), other(file);
    std::error_code failed;
    fs::path const folder = own.has_parent_path() ? own.parent_path() : ".";
    fs::path const other_folder = other.has_parent_path() ? other.parent_path() : ".";
    if (file.empty() || (folder != other_folder && !fs::equivalent(folder, other_folder, failed))) return false;
    std::string const start = own.stem().string() + ".", name = other.filename().string();
    if (!name.starts_with(start)) return false;
    std::size_t const digits = name.find_first_not_of("0123456789", start.size());
    return digits != start.size() && digits != name.npos && name.substr(digits) == ".optimizer.safetensors";
}

namespace {

/** Hands lines of a log that a run at `step` keeps to `keep`; answers whether those are all. */
template <typename keep_>
bool for_each_kept(std::string const &path, std::uint64_t step, keep_ &&keep) {
    bool whole = true;
    line_reader_t lines(path);
    for (std::string line; lines.next(line);) {
        nlohmann::json const event = nlohmann::json::parse(line, nullptr, false);
        bool const readable = event.is_object() && (!event.contains("step") || event["step"].is_number_unsigned());
        bool const keeps = readable && event.value("step", std::uint64_t(0)) <= step;
        if (keeps) keep(line);
        whole &= keeps;
    }
    return whole;
}

} // namespace

/** Read twice, as a log of weeks is better not held in memory. */
void cut_log(std::string const &path, std::uint64_t step) {
    std::error_code failed;
    if (path.empty() || path == "-" || !fs::is_regular_file(path, failed)) return;
    std::uintmax_t const bytes = fs::file_size(path, failed);
    bool const ended = failed || bytes == 0 || read_part(path, bytes - 1, 1) == "\n";
    if (for_each_kept(path, step, [](std::string const &) {}) && ended) return;
    output_file_t file(path);
    for_each_kept(path, step, [&](std::string const &line) { file.write(line), file.write("\n"); });
    file.commit();
}

} // namespace uform::tools
