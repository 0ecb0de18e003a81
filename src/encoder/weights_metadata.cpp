/**
 *  @file weights_metadata.cpp
 *  @brief A model's options to and from a checkpoint's metadata, and the check that its tensors fit them.
 */
#include <uform/encoder/weights.hpp>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <initializer_list>

namespace uform {
namespace {

using wide_t = unsigned long long; // what %llu takes

// Far above the largest tier (2048 x 48, 4096 tokens), far below where a size computed from them could overflow.
constexpr std::size_t hidden_limit_k = 16384, depth_limit_k = 1024, context_limit_k = 65536;
constexpr std::size_t token_width_limit_k = 16384, groups_limit_k = 65536;
constexpr std::size_t patch_side_limit_k = 64, tube_frames_limit_k = 64, frame_stride_limit_k = 4096;
constexpr std::size_t chunk_samples_limit_k = 16384, sample_rate_first_k = 1000, sample_rate_limit_k = 768000;

/** Absent counts as `missing`; anything but decimal digits within 64 bits is refused. */
failure_t read_count(checkpoint_t const &checkpoint, char const *key, std::optional<std::uint64_t> missing,
                     std::uint64_t &value) noexcept {
    auto const text = checkpoint.metadata(key);
    if (!text && missing) return value = *missing, failure_t {};
    if (!text) return fail(uform_status_malformed_k, "checkpoint metadata lacks a field", "field '%s'", key);
    char const *const last = text->data() + text->size();
    auto const [end, error] = std::from_chars(text->data(), last, value);
    if (error == std::errc() && end == last) return {};
    return fail(uform_status_malformed_k, "checkpoint metadata holds no whole number", "field '%s' is '%s'", key,
                shown_text_t(*text).text);
}

failure_t read_size(checkpoint_t const &checkpoint, char const *key, std::optional<std::uint64_t> missing,
                    std::size_t &value) noexcept {
    std::uint64_t count = 0;
    failure_t const failure = read_count(checkpoint, key, missing, count);
    value = std::size_t(count);
    return failure;
}

failure_t check_format(checkpoint_t const &checkpoint) noexcept {
    auto const format = checkpoint.metadata("format");
    if (!format || *format != "uform")
        return fail(uform_status_malformed_k, "not a uform checkpoint",
                    "metadata field 'format' is '%s', expected 'uform'", shown_text_t(format.value_or("")).text);
    std::uint64_t version = 0;
    if (failure_t const failure = read_count(checkpoint, "version", std::nullopt, version)) return failure;
    if (version == checkpoint_version_k) return {};
    return fail(uform_status_malformed_k, "checkpoint version is not the one this build reads",
                "version %llu, expected %llu", wide_t(version), wide_t(checkpoint_version_k));
}

failure_t check_range(char const *field, std::size_t value, std::size_t first, std::size_t last) noexcept {
    if (value >= first && value <= last) return {};
    return fail(uform_status_malformed_k, "a model's size is out of range", "%s is %zu, expected %zu to %zu", field,
                value, first, last);
}

failure_t check_tensor(checkpoint_t const &checkpoint, tensor_spec_t const &spec) noexcept {
    tensor_t const *const tensor = checkpoint.find(spec.name());
    if (!tensor) return fail(uform_status_malformed_k, "checkpoint lacks a tensor", "tensor '%s'", spec.name_text);
    tensor_layout_t const expected = spec.layout();
    bool fits = tensor->rank == expected.rank;
    for (std::size_t axis = 0; axis < expected.rank; ++axis) fits = fits && tensor->shape[axis] == expected.shape[axis];
    if (!fits)
        return fail(uform_status_malformed_k, "a tensor's shape does not fit the model", "tensor '%s': %s, expected %s",
                    spec.name_text, shown_shape_t({tensor->shape, tensor->rank}).text,
                    shown_shape_t({expected.shape, expected.rank}).text);
    if (tensor->dtype == spec.dtype) return {};
    return fail(uform_status_malformed_k, "a tensor's dtype does not fit the model", "tensor '%s': %s, expected %s",
                spec.name_text, name_of(tensor->dtype), name_of(spec.dtype));
}

/** Rows of a tensor that may be absent: zero then. */
std::size_t leading_extent(checkpoint_t const &checkpoint, std::string_view name) noexcept {
    tensor_t const *const tensor = checkpoint.find(name);
    return tensor && tensor->rank ? tensor->shape[0] : 0;
}

/** Whether the checkpoint holds `<medium>.<any of the names>`. */
bool holds_any(checkpoint_t const &checkpoint, medium_t medium, std::initializer_list<char const *> names) noexcept {
    return std::any_of(names.begin(), names.end(), [&](char const *name) {
        char text[tensor_spec_t::name_capacity_k];
        std::snprintf(text, sizeof(text), "%s.%s", media_names_k[std::size_t(medium)], name);
        return checkpoint.find(text) != nullptr;
    });
}

/** One number of an entry: where it lies, what it is called, what it is where the metadata says nothing. */
struct entry_field_t {
    medium_t medium;
    char const *name;
    std::size_t *value;
    std::size_t missing, first, last;
};
struct entry_fields_t {
    entry_field_t fields[7];

    explicit entry_fields_t(model_options_t &options) noexcept
        : fields {{medium_t::image_k, "image.patch_side", &options.image.patch_side, 16, 1, patch_side_limit_k},
                  {medium_t::image_k, "image.channels", &options.image.channels, 4, 3, 4},
                  {medium_t::video_k, "video.patch_side", &options.video.patch_side, 16, 1, patch_side_limit_k},
                  {medium_t::video_k, "video.tube_frames", &options.video.tube_frames, 2, 1, tube_frames_limit_k},
                  {medium_t::video_k, "video.frame_stride", &options.video.frame_stride, 1, 1, frame_stride_limit_k},
                  {medium_t::audio_k, "audio.chunk_samples", &options.audio.chunk_samples, 320, 1,
                   chunk_samples_limit_k},
                  {medium_t::audio_k, "audio.sample_rate", &options.audio.sample_rate, 16000, sample_rate_first_k,
                   sample_rate_limit_k}} {}
    auto begin() const noexcept { return std::begin(fields); }
    auto end() const noexcept { return std::end(fields); }
};

/** An entry is there where any of its tensors is; `check_tensor` then asks for the others. */
failure_t read_entries(checkpoint_t const &checkpoint, model_options_t &options) noexcept {
    for (entry_field_t const &field : entry_fields_t(options)) {
        if (!holds_any(checkpoint, field.medium, {"projection.weight", "projection.bias", "mask"})) continue;
        if (failure_t const failure = read_size(checkpoint, field.name, field.missing, *field.value)) return failure;
        if (failure_t const failure = check_range(field.name, *field.value, field.first, field.last)) return failure;
    }
    for (std::size_t medium = 0; medium < media_k; ++medium)
        options.reconstructs[medium] =
            options.enters(medium_t(medium)) &&
            holds_any(checkpoint, medium_t(medium), {"reconstruction.weight", "reconstruction.bias"});
    return {};
}

/** A head is there where any of its tensors is; `check_tensor` then asks for the others. */
failure_t read_heads(checkpoint_t const &checkpoint, model_options_t &options) noexcept {
    std::size_t promised = 0;
    options.token_width = leading_extent(checkpoint, "tokens.projection");
    if (failure_t const failure = read_size(checkpoint, "token_width", options.token_width, promised)) return failure;
    if (options.token_width && promised != options.token_width)
        return fail(uform_status_malformed_k, "token_width disagrees with tokens.projection",
                    "metadata %zu, tensor %zu rows", promised, options.token_width);
    options.decoder = checkpoint.find("decoder.weight") || checkpoint.find("decoder.bias");
    auto const groups = [&](std::string_view first, std::string_view second) {
        std::size_t const extent = leading_extent(checkpoint, first);
        return extent ? extent : leading_extent(checkpoint, second);
    };
    options.choice_groups = leading_extent(checkpoint, "choices.inverse_temperatures");
    options.contrastive_groups = groups("contrastive.log_inverse_temperature", "contrastive.bias");
    options.late_interaction_groups = groups("late_interaction.log_inverse_temperature", "late_interaction.bias");
    return {};
}

} // namespace

failure_t check_options(model_options_t const &options) noexcept {
    geometry_t const &geometry = options.geometry;
    if (failure_t const failure = check_range("hidden", geometry.hidden, 128, hidden_limit_k)) return failure;
    if (geometry.hidden % 128 != 0)
        return fail(uform_status_malformed_k, "hidden is not a multiple of 128", "hidden is %zu", geometry.hidden);
    if (failure_t const failure = check_range("depth", geometry.depth, 1, depth_limit_k)) return failure;
    if (failure_t const failure = check_range("context", geometry.context, 1, context_limit_k)) return failure;
    if (failure_t const failure = check_range("token_width", options.token_width, 0, token_width_limit_k))
        return failure;
    model_options_t entries = options; // the table points to what it may write
    for (entry_field_t const &field : entry_fields_t(entries)) {
        if (!options.enters(field.medium)) continue;
        if (failure_t const failure = check_range(field.name, *field.value, field.first, field.last)) return failure;
    }
    for (std::size_t const groups :
         {options.choice_groups, options.contrastive_groups, options.late_interaction_groups})
        if (failure_t const failure = check_range("temperature_groups", groups, 0, groups_limit_k)) return failure;
    return {};
}

failure_t read_options(checkpoint_t const &checkpoint, model_options_t &options) noexcept {
    model_options_t read;
    if (failure_t const failure = check_format(checkpoint)) return failure;
    geometry_t &geometry = read.geometry;
    if (failure_t const failure = read_size(checkpoint, "hidden", std::nullopt, geometry.hidden)) return failure;
    if (failure_t const failure = read_size(checkpoint, "depth", std::nullopt, geometry.depth)) return failure;
    if (failure_t const failure = read_size(checkpoint, "context", std::nullopt, geometry.context)) return failure;
    if (failure_t const failure = read_entries(checkpoint, read)) return failure;
    if (failure_t const failure = read_heads(checkpoint, read)) return failure;
    if (failure_t const failure = check_options(read)) return failure;
    failure_t first;
    for_each_tensor(read, [&](tensor_spec_t const &spec) {
        if (!first) first = check_tensor(checkpoint, spec);
    });
    if (!first) options = read;
    return first;
}

failure_t read_notes(checkpoint_t const &checkpoint, model_notes_t &notes) noexcept {
    model_notes_t read;
    if (failure_t const failure = read_count(checkpoint, "step", 0, read.step)) return failure;
    if (failure_t const failure = read_count(checkpoint, "seed", 0, read.seed)) return failure;
    read.objective = checkpoint.metadata("objective").value_or("");
    read.prefix_query = checkpoint.metadata("prefix.query").value_or("");
    read.prefix_document = checkpoint.metadata("prefix.document").value_or("");
    notes = read;
    return {};
}

failure_t begin_model(checkpoint_writer_t &writer, std::string_view path, model_options_t const &options,
                      model_notes_t const &notes) noexcept {
    if (failure_t const failure = check_options(options)) return failure;
    // The specs own the names that the layouts point at.
    buffer_t<tensor_spec_t> specs;
    buffer_t<tensor_layout_t> layouts;
    std::size_t const count = count_tensors(options);
    if (!specs.resize(count) || !layouts.resize(count))
        return fail(uform_status_out_of_memory_k, "no memory for a checkpoint's header");
    for_each_tensor(options, [&](tensor_spec_t const &spec) {
        specs[spec.index] = spec;
        layouts[spec.index] = specs[spec.index].layout();
    });
    struct decimal_t {
        char text[24] = {};
        decimal_t() noexcept = default;
        explicit decimal_t(std::uint64_t value) noexcept { std::snprintf(text, sizeof(text), "%llu", wide_t(value)); }
    };
    decimal_t const version(checkpoint_version_k), hidden(options.geometry.hidden), depth(options.geometry.depth),
        context(options.geometry.context), token_width(options.token_width), step(notes.step), seed(notes.seed);
    metadata_entry_t const fixed[] = {
        {"format", "uform"},
        {"version", version.text},
        {"hidden", hidden.text},
        {"depth", depth.text},
        {"context", context.text},
        {"token_width", token_width.text},
        {"step", step.text},
        {"seed", seed.text},
        {"objective", notes.objective},
        {"prefix.query", notes.prefix_query},
        {"prefix.document", notes.prefix_document},
    };
    buffer_t<metadata_entry_t> metadata;
    model_options_t sizes = options; // the table points to what it may write
    entry_fields_t const fields(sizes);
    buffer_t<decimal_t> numbers;
    auto const enters = [&](entry_field_t const &field) { return options.enters(field.medium); };
    std::size_t const entries = std::size_t(std::count_if(fields.begin(), fields.end(), enters));
    if (!metadata.resize(std::size(fixed) + entries + notes.more.size()) || !numbers.resize(entries))
        return fail(uform_status_out_of_memory_k, "no memory for a checkpoint's header");
    metadata_entry_t *next = std::copy(std::begin(fixed), std::end(fixed), metadata.begin());
    decimal_t *number = numbers.begin();
    for (entry_field_t const &field : fields)
        if (enters(field)) *number = decimal_t(*field.value), *next++ = {field.name, (number++)->text};
    std::copy(notes.more.begin(), notes.more.end(), next);
    return writer.begin(path, layouts.span(), metadata.span());
}

} // namespace uform
