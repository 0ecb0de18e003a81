/**
 *  @file save.cpp
 *  @brief A run on disk: the checkpoint that is served, and beside it the moments of the same step.
 *
 *      name.safetensors                     weights, step, seed, objective, what else a resumed run must share
 *      name.<step>.optimizer.safetensors    the moments, the schedule, the step they started from, which weights
 *
 *  The moments of a step are complete and synced before the checkpoint is renamed into place, and the older moments go
 *  after it, so a crash at any moment leaves a pair that matches. What it leaves beside that, moments of another step
 *  or files under construction, goes with the next save.
 */
#include <uform/train/trainer.hpp>

#include "train/agreement.hpp"

#include <cerrno>
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <optional>
#include <unistd.h>

namespace uform {
namespace {

constexpr std::size_t path_limit_k = 4096;

/** "<path without .safetensors>", where the names of all its moments begin. */
std::string_view stem_of(std::string_view path) noexcept {
    constexpr std::string_view suffix = ".safetensors";
    if (path.ends_with(suffix)) path.remove_suffix(suffix.size());
    return path;
}

/** "<path without .safetensors>.<step>.optimizer.safetensors"; false where it would be longer than paths are. */
bool moments_path(std::string_view path, std::uint64_t step, char (&target)[path_limit_k]) noexcept {
    if (path.size() >= path_limit_k) return false;
    path = stem_of(path);
    int const length = std::snprintf(target, path_limit_k, "%.*s.%llu.optimizer.safetensors", int(path.size()),
                                     path.data(), (unsigned long long)step);
    return length > 0 && std::size_t(length) < path_limit_k;
}

std::string_view kept_text(buffer_t<char> const &text) noexcept {
    return {text.data(), text.size() ? ::strnlen(text.data(), text.size()) : 0};
}

std::uint64_t number_of(checkpoint_t const &checkpoint, std::string_view key) noexcept {
    std::string_view const text = checkpoint.metadata(key).value_or("");
    std::uint64_t value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
}

/** The failure with the moments' own name before its detail, as the caller named another file. */
failure_t within(std::string_view moments, failure_t const &failure) noexcept {
    if (failure.status == uform_status_io_k) return failure; // holds the path already
    if (std::size_t const slash = moments.rfind('/'); slash != moments.npos) moments.remove_prefix(slash + 1);
    return fail(failure.status, failure.message, "%.*s: %s", int(moments.size()), moments.data(), failure.detail);
}

/** What a finished save looks for beside its checkpoint. */
struct leftovers_t {
    std::string_view path;
    std::uint64_t step, seed; // of the pair that stays, and of whose moments are ours
};

/** Moments of another step of this run. Those of another seed are another run's, and what cannot be read is nobody's. */
bool is_superseded(char const *moments, std::uint64_t step, leftovers_t const &left) noexcept {
    checkpoint_t found;
    return step != left.step && !found.open(moments) && number_of(found, "step") == step && found.metadata("seed") &&
           number_of(found, "seed") == left.seed;
}

void remove_leftover(void *context, std::string_view name) noexcept {
    leftovers_t const &left = *static_cast<leftovers_t const *>(context);
    std::size_t const folder = left.path.rfind('/') + 1; // zero where there is none
    std::string_view const file = left.path.substr(folder), stem = stem_of(file);
    char found[path_limit_k];
    if (folder + name.size() >= path_limit_k) return;
    std::memcpy(found, left.path.data(), folder), std::memcpy(found + folder, name.data(), name.size());
    found[folder + name.size()] = 0;
    if (is_temporary_of(name, file)) return remove_if_abandoned(found);
    if (!name.starts_with(stem) || !name.substr(stem.size()).starts_with('.')) return;
    std::string_view rest = name.substr(stem.size() + 1);
    std::uint64_t step = 0;
    std::from_chars(rest.data(), rest.data() + rest.size(), step);
    constexpr std::string_view kind = ".optimizer.safetensors";
    if (!take_digits(rest) || !rest.starts_with(kind)) return;
    if (is_temporary_of(rest, kind)) return remove_if_abandoned(found);
    if (rest == kind && is_superseded(found, step, left)) (void)::unlink(found);
}

/** FNV-1a over words of 8 bytes: tells weights apart, not forgeries. */
std::uint64_t fingerprint(std::uint64_t hash, std::span<std::byte const> bytes) noexcept {
    for (; !bytes.empty(); bytes = bytes.subspan(std::min<std::size_t>(bytes.size(), 8))) {
        std::uint64_t word = 0;
        std::memcpy(&word, bytes.data(), std::min<std::size_t>(bytes.size(), 8));
        hash = (hash ^ word) * 0x100000001b3u;
    }
    return hash;
}

} // namespace

/** Of all masters: what says that moments and a checkpoint are of one moment, where two runs share seed and step. */
std::uint64_t trainer_t::weights_fingerprint() const noexcept {
    std::uint64_t hash = 0xcbf29ce484222325u;
    for (tensor_spec_t const &spec : parameters_.specs())
        hash = fingerprint(hash, parameters_.master_bytes(spec.index));
    return hash;
}

/** Metadata is text, prefixes are bytes: what is not printable ASCII becomes \\xHH, a backslash two. */
failure_t trainer_t::keep_prefixes(trainer_options_t const &options) noexcept {
    auto const escape = [](std::string_view bytes, buffer_t<char> &target) noexcept {
        if (!target.resize(bytes.size() * 4)) return false;
        static constexpr char digits[] = "0123456789abcdef";
        std::size_t used = 0;
        for (unsigned char const byte : bytes) {
            if (byte >= ' ' && byte < 0x7f && byte != '\\') {
                target[used++] = char(byte);
                continue;
            }
            target[used++] = '\\';
            if (byte == '\\') target[used++] = '\\';
            else target[used++] = 'x', target[used++] = digits[byte >> 4], target[used++] = digits[byte & 15];
        }
        return true; // what is left over stays NUL, and the text ends there
    };
    if (escape(options.query_prefix, query_prefix_) && escape(options.document_prefix, document_prefix_)) return {};
    return fail(uform_status_out_of_memory_k, "memory for the trainer is out");
}

failure_t trainer_t::keep_escaped(std::string_view text, buffer_t<char> &target) noexcept {
    if (target.size() || text.empty()) return {}; // what the caller names wins
    if (!target.resize(text.size())) return fail(uform_status_out_of_memory_k, "memory for the trainer is out");
    std::copy(text.begin(), text.end(), target.begin());
    return {};
}

failure_t trainer_t::write_moments(std::string_view path) const noexcept {
    std::span<tensor_spec_t const> const specs = parameters_.specs();
    buffer_t<tensor_layout_t> layouts;
    if (!layouts.resize(specs.size())) return fail(uform_status_out_of_memory_k, "memory for saving is out");
    for (tensor_spec_t const &spec : specs) {
        tensor_layout_t &layout = layouts[spec.index];
        layout.name = spec.name(), layout.dtype = dtype_t::f32_k, layout.rank = 1;
        layout.shape[0] = parameters_.moments(spec.index).size();
    }
    notes_t notes;
    notes.add("step", steps_done_), notes.add("moments.since", moments_since_);
    notes.add("weights.fingerprint", weights_fingerprint());
    notes.add("seed", std::uint64_t(options_.seed)), add_schedule(notes, options_);
    checkpoint_writer_t writer;
    if (failure_t const failure = writer.begin(path, layouts.span(), notes.entries())) return failure;
    for (tensor_spec_t const &spec : specs)
        if (failure_t const failure = writer.append(std::as_bytes(parameters_.moments(spec.index)))) return failure;
    return writer.commit();
}

failure_t trainer_t::save(std::string_view path, bool with_moments, uform_progress_t const &progress) noexcept {
    with_moments = with_moments && parameters_.slabs(); // a run without a step has none
    char moments[path_limit_k], older[path_limit_k];
    if (!moments_path(path, steps_done_, moments)) return fail(uform_status_invalid_argument_k, "path is too long");
    std::optional<std::uint64_t> older_step; // of the checkpoint that is there, if any
    bool is_ours = false;                    // another run's moments are not ours to remove
    {
        checkpoint_t previous;
        failure_t const failure = previous.open(path);
        if (failure.status == uform_status_out_of_memory_k) return failure;
        if (!failure) older_step = number_of(previous, "step"), is_ours = number_of(previous, "seed") == options_.seed;
    }
    if (with_moments)
        if (failure_t const failure = write_moments(moments)) return failure;
    bool renamed = false;
    if (failure_t const failure = write_weights(path, progress, renamed)) {
        // Moments without their checkpoint go too. One that was renamed before a flush failed keeps them, and so does
        // the one still there if it is of this step.
        if (with_moments && !renamed && older_step != steps_done_) (void)::unlink(moments);
        return failure;
    }
    // Without memory, as it is done where that runs out; what the folder holds beside is looked for where there is some.
    if (is_ours && older_step != steps_done_ && moments_path(path, *older_step, older)) (void)::unlink(older);
    leftovers_t left {path, steps_done_, options_.seed};
    visit_folder_of(path, remove_leftover, &left);
    return {};
}

failure_t trainer_t::write_weights(std::string_view path, uform_progress_t const &progress,
                                   bool &renamed) const noexcept {
    model_notes_t notes;
    notes.step = steps_done_, notes.seed = options_.seed;
    notes.objective = uform_objective_name(options_.objective);
    notes.prefix_query = kept_text(query_prefix_), notes.prefix_document = kept_text(document_prefix_);
    notes_t terms;
    add_terms(terms, options_);
    notes.more = terms.entries();
    checkpoint_writer_t writer;
    if (failure_t const failure = begin_model(writer, path, options_.model, notes)) return failure;
    std::size_t written = 0;
    for (tensor_spec_t const &spec : parameters_.specs()) {
        if (failure_t const failure = writer.append(parameters_.master_bytes(spec.index))) return failure;
        if (progress.callback && !progress.callback(++written, parameters_.specs().size(), progress.context))
            return fail(uform_status_cancelled_k, "the progress handler stopped the save");
    }
    failure_t const failure = writer.commit();
    renamed = writer.renamed();
    return failure;
}

failure_t trainer_t::resume(std::string_view path, uform_progress_t const &progress) noexcept {
    checkpoint_t checkpoint;
    if (failure_t const failure = checkpoint.open(path)) return failure;
    model_options_t saved;
    model_notes_t notes;
    if (failure_t const failure = read_options(checkpoint, saved)) return failure;
    if (failure_t const failure = read_notes(checkpoint, notes)) return failure;
    if (failure_t const failure = same_run(checkpoint, saved, notes, options_)) return failure;
    if (failure_t const failure = keep_escaped(notes.prefix_query, query_prefix_)) return failure;
    if (failure_t const failure = keep_escaped(notes.prefix_document, document_prefix_)) return failure;

    std::size_t placed = 0;
    for (tensor_spec_t const &spec : parameters_.specs()) {
        tensor_t const *tensor = checkpoint.find(spec.name());
        if (!tensor || !parameters_.copy_master(spec, *tensor))
            return refuse_resume("tensor", "absent or of another shape", spec.name());
        if (failure_t const failure = refuse_non_finite(*tensor)) return failure;
        if (progress.callback && !progress.callback(++placed, parameters_.specs().size(), progress.context))
            return fail(uform_status_cancelled_k, "the progress handler stopped the load");
    }
    steps_done_ = moments_since_ = notes.step; // moments that are not found start anew
    return read_moments(path);
}

failure_t trainer_t::read_moments(std::string_view path) noexcept {
    char moments[path_limit_k];
    if (!moments_path(path, steps_done_, moments)) return fail(uform_status_invalid_argument_k, "resume is too long");
    if (::access(moments, F_OK) != 0 && errno == ENOENT) return {}; // what cannot be reached is for `open` to report
    if (failure_t const failure = parameters_.allocate_gradients()) return failure;
    if (failure_t const failure = place_moments(moments)) return within(moments, failure);
    return {};
}

failure_t trainer_t::place_moments(std::string_view moments) noexcept {
    checkpoint_t checkpoint;
    if (failure_t const failure = checkpoint.open(moments)) return failure;
    if (failure_t const failure = same_terms(checkpoint, options_)) return failure;
    if (failure_t const failure = same_number("seed", number_of(checkpoint, "seed"), options_.seed)) return failure;
    if (checkpoint.metadata("weights.fingerprint") && // files before it have none
        number_of(checkpoint, "weights.fingerprint") != weights_fingerprint())
        return fail(uform_status_config_mismatch_k, "the moments beside the checkpoint are of other weights",
                    "remove them to start anew");
    for (tensor_spec_t const &spec : parameters_.specs()) {
        tensor_t const *tensor = checkpoint.find(spec.name());
        std::span<float> const target = parameters_.moments(spec.index);
        if (!tensor || tensor->dtype != dtype_t::f32_k || tensor->elements() != target.size())
            return fail(uform_status_malformed_k, "the moments beside the checkpoint do not fit it", "%s",
                        spec.name_text);
        if (failure_t const failure = refuse_non_finite(*tensor)) return failure;
        std::size_t const means = spec.rows + spec.columns; // of squares, so never negative
        if (std::any_of(tensor->f32(), tensor->f32() + means, [](float mean) { return mean < 0; }))
            return fail(uform_status_malformed_k, "the moments beside the checkpoint hold a negative mean of squares", "%s",
                        spec.name_text);
        std::copy_n(tensor->f32(), target.size(), target.data());
    }
    std::uint64_t const since = number_of(checkpoint, "moments.since");
    if (since > steps_done_)
        return fail(uform_status_malformed_k, "the moments beside the checkpoint start after it", "step %llu of %llu",
                    (unsigned long long)since, (unsigned long long)steps_done_);
    moments_since_ = since;
    return {};
}

} // namespace uform
