/**
 *  @file trainer.cpp
 *  @brief Starting a run, going on from a file, and saving one that the stub and the engine load.
 */
#include "trainer.hpp"

#include <atomic>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "arguments.hpp"
#include "call.hpp"
#include "terms.hpp"

namespace uform_stub {
namespace {

/** Where the engine keeps what its optimizer knows. A name longer than paths are is refused, and so is its path. */
std::string moments_of(std::string_view path, std::uint64_t step, char const *too_long) {
    constexpr std::string_view suffix = ".safetensors";
    constexpr std::size_t path_limit = 4096;
    if (path.size() >= path_limit) refuse(too_long);
    if (path.ends_with(suffix)) path.remove_suffix(suffix.size());
    std::string const name = std::string(path) + "." + std::to_string(step) + ".optimizer.safetensors";
    if (name.size() >= path_limit) refuse(too_long);
    return name;
}

/** The stub's optimizer knows nothing; what an engine left beside the file must still fit it. */
void check_moments(std::string_view path, std::uint64_t step, options_t const &options) {
    std::string const name = moments_of(path, step, "resume is too long");
    std::error_code error;
    if (!std::filesystem::exists(name, error) && !error) return;
    checkpoint_t const moments(read_file(name));
    check_terms(moments, options);
    check_same("seed", moments.text("seed"), std::to_string(options.seed));
}

std::string filled(std::size_t count, float value) {
    std::string bytes(count * 4, 0);
    for (std::size_t i = 0; i < count; ++i) std::memcpy(bytes.data() + 4 * i, &value, 4);
    return bytes;
}

/** A path beside another, used by nobody else. */
std::string temporary_beside(std::string_view path) {
    static std::atomic<unsigned> counter {0};
    auto const now = std::chrono::steady_clock::now().time_since_epoch().count();
    return std::string(path) + "." + std::to_string(now) + "." + std::to_string(counter++) + ".tmp";
}

/** Removes a file unless it was renamed away. */
struct removed_t {
    std::string path;
    ~removed_t() {
        std::error_code ignored;
        std::filesystem::remove(path, ignored);
    }
};

} // namespace

std::string escaped(std::string_view bytes) {
    constexpr char digits[] = "0123456789abcdef";
    std::string text;
    for (char const byte : bytes)
        if (byte == '\\')
            text += "\\\\";
        else if (byte >= ' ' && byte < 0x7f)
            text += byte;
        else
            text += std::string("\\x") + digits[byte >> 4 & 15] + digits[byte & 15];
    return text;
}

} // namespace uform_stub

using namespace uform_stub;

void uform_trainer_handle_t::start(uform_trainer_init_ram_t const &call) {
    options = resolve(call), executor = call.executor;
    query_prefix = escaped(text_of(call.query_prefix)), document_prefix = escaped(text_of(call.document_prefix));
    specs = tensors_of(options.sizes);
    for (spec_t const &spec : specs) {
        float value = 0;
        if (spec.name.ends_with("norm")) value = 1;
        if (spec.name == "contrastive.log_inverse_temperature")
            value = std::log(options.contrastive.inverse_temperature);
        if (spec.name == "contrastive.bias") value = options.contrastive.bias;
        if (spec.name == "late_interaction.log_inverse_temperature")
            value = std::log(options.late_interaction.inverse_temperature);
        if (spec.name == "late_interaction.bias") value = options.late_interaction.bias;
        weights.push_back(spec.is_f32 ? filled(spec.bytes() / 4, value) : std::string(spec.bytes(), 0));
    }
}

void uform_trainer_handle_t::resume(std::string_view path, uform_progress_t const &progress) {
    checkpoint_t const checkpoint(read_file(path));
    sizes_t const saved = read_sizes(checkpoint);
    std::uint64_t const zero = 0, step = count_in(checkpoint, "step", &zero),
                        seed = count_in(checkpoint, "seed", &zero);
    check_same("hidden", std::to_string(saved.hidden), std::to_string(options.sizes.hidden));
    check_same("depth", std::to_string(saved.depth), std::to_string(options.sizes.depth));
    check_same("context", std::to_string(saved.context), std::to_string(options.sizes.context));
    check_same("seed", std::to_string(seed), std::to_string(options.seed));
    check_same("objective", checkpoint.text("objective"), uform_objective_name(options.objective));
    check_terms(checkpoint, options);
    sizes_t const &asked = options.sizes;
    auto const saved_entries = entries_of(saved), asked_entries = entries_of(asked);
    for (std::size_t i = 0; i < saved_entries.size(); ++i)
        check_same(saved_entries[i].first, std::to_string(saved_entries[i].second),
                   std::to_string(asked_entries[i].second));
    check_same("late_interaction.width", std::to_string(saved.token_width), std::to_string(asked.token_width));
    check_same("choices.temperature_groups", std::to_string(saved.choice_groups), std::to_string(asked.choice_groups));
    check_same("contrastive.temperature_groups", std::to_string(saved.contrastive_groups),
               std::to_string(asked.contrastive_groups));
    if (query_prefix.empty()) query_prefix = checkpoint.text("prefix.query");
    if (document_prefix.empty()) document_prefix = checkpoint.text("prefix.document");
    for (std::size_t i = 0; i < specs.size(); ++i) {
        tensor_t const *tensor = checkpoint.find(specs[i].name);
        if (!tensor || tensor->shape != specs[i].shape || tensor->is_f32 != specs[i].is_f32)
            check_same("tensor", "absent or of another shape", specs[i].name);
        check_finite(*tensor);
        weights[i] = tensor->data;
        advance(progress, i + 1, specs.size(), "the progress handler stopped the load");
    }
    check_moments(path, steps_done = step, options);
}

void uform_trainer_handle_t::warm_start(std::string_view path, uform_progress_t const &progress) {
    checkpoint_t const checkpoint(read_file(path));
    std::size_t matched = 0;
    for (std::size_t i = 0; i < specs.size(); ++i) {
        tensor_t const *tensor = checkpoint.find(specs[i].name);
        if (tensor) check_finite(*tensor);
        if (tensor && tensor->shape == specs[i].shape && tensor->is_f32 == specs[i].is_f32)
            weights[i] = tensor->data, ++matched;
        advance(progress, i + 1, specs.size(), "the progress handler stopped the load");
    }
    if (!matched) fail(uform_status_config_mismatch_k, "initial has no tensor of this run's names and shapes");
}

void uform_trainer_handle_t::save(std::string_view path, uform_progress_t const &progress) const {
    (void)moments_of(path, steps_done, "path is too long"); // the stub writes none, but takes the same paths
    metadata_t metadata {{"format", "uform"},
                         {"version", "4"},
                         {"hidden", std::to_string(options.sizes.hidden)},
                         {"depth", std::to_string(options.sizes.depth)},
                         {"context", std::to_string(options.sizes.context)},
                         {"token_width", std::to_string(options.sizes.token_width)},
                         {"step", std::to_string(steps_done)},
                         {"seed", std::to_string(options.seed)},
                         {"objective", uform_objective_name(options.objective)},
                         {"prefix.query", query_prefix},
                         {"prefix.document", document_prefix}};
    for (auto const &[name, value] : entries_of(options.sizes))
        if (value) metadata.emplace_back(name, std::to_string(value));
    for (auto &entry : terms_of(options)) metadata.push_back(std::move(entry));
    removed_t const temporary {temporary_beside(path)};
    std::ofstream file(temporary.path, std::ios::binary);
    if (!file) fail(uform_status_io_k, "a file cannot be created", temporary.path);
    file << header_of(specs, metadata);
    for (std::size_t i = 0; i < specs.size(); ++i) {
        file.write(weights[i].data(), std::streamsize(weights[i].size()));
        advance(progress, i + 1, specs.size(), "the progress handler stopped the save");
    }
    file.close();
    if (!file) fail(uform_status_io_k, "a file cannot be written", temporary.path);
    std::error_code error;
    std::filesystem::rename(temporary.path, std::string(path), error);
    if (error) fail(uform_status_io_k, "a file cannot be renamed into place", std::string(path));
}
