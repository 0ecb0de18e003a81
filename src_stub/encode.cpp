/**
 *  @file encode.cpp
 *  @brief The verbs of `uform/encode.h` that encode texts and pictures; choosing and reranking are in score.cpp.
 */
#include <uform/encode.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "arguments.hpp"
#include "call.hpp"
#include "clips.hpp"
#include "inputs.hpp"
#include "model.hpp"
#include "pictures.hpp"
#include "recordings.hpp"
#include "rows.hpp"
#include "score.hpp"

namespace uform_stub {
namespace {


/** What every encode verb refuses of its outputs. */
template <typename call_>
void check_surfaces(call_ const &call) {
    sizes_t const &sizes = call.model->sizes;
    if (!call.embeddings && !call.states && !call.token_vectors)
        refuse("one of embeddings, states, token_vectors must be asked for");
    if (!call.arena) refuse("arena must not be NULL");
    check_outputs_scalar(call.outputs_scalar, !call.states);
    if (call.dimensions > sizes.hidden)
        fail(uform_status_shape_mismatch_k, "dimensions are more than the model's",
             std::to_string(call.dimensions) + " of " + std::to_string(sizes.hidden));
    if (call.token_vectors && !sizes.token_width)
        unsupported("the model has no token head, so token_vectors cannot be answered");
}

void check_text_encode(uform_text_encode_t const &call) {
    check_tape(UFORM_STUB_FIELD("texts"), call.texts, call.count, uform_scalar_u8_k);
    check_surfaces(call);
    check_inputs(call.arena, {input_of("texts.data", call.texts, call.count),
                              offsets_of("texts.offsets", call.texts.offsets, call.count)});
}

/** A surface: rows of an arena, filled one by one. */
template <typename view_>
struct surface_t {
    view_ view {};
    std::byte *data;

    surface_t(uform_arena_t arena, std::size_t count, std::size_t columns, uform_scalar_t scalar) {
        view.count = count, view.columns = columns, view.stride = columns * uform_scalar_bytes(scalar);
        view.scalar = scalar, view.data = data = arena->claim(count * view.stride);
    }
    void put(std::size_t row, std::vector<float> const &values) noexcept {
        land(values, view.scalar, data + row * view.stride);
    }
};

/** Tokens of an item, and whether it held more than they stand for. */
struct counted_t {
    std::size_t tokens;
    bool is_cut;

    counted_t(std::size_t tokens, bool is_cut = false) : tokens(tokens), is_cut(is_cut) {}
};

/** Lands rows hashed from each item's bytes; `tokens(i)` tells how many it has before the context cuts them, and
 *  `shown(i)` the bytes that count. */
template <typename call_, typename tokens_, typename shown_>
void encode(call_ const &call, tokens_ const &tokens_of, shown_ const &shown) {
    sizes_t const &sizes = call.model->sizes;
    uform_scalar_t const scalar = call.outputs_scalar ? call.outputs_scalar : uform_scalar_f32_k;
    auto *const offsets = reinterpret_cast<std::size_t *>(call.arena->claim((call.count + 1) * sizeof(std::size_t)));
    std::size_t truncated = 0;
    for (std::size_t i = 0; i < call.count; ++i) {
        counted_t const counted = tokens_of(i);
        truncated += counted.is_cut || counted.tokens > sizes.context;
        offsets[i + 1] = offsets[i] + std::clamp<std::size_t>(counted.tokens, 1, sizes.context); // an empty text is one PAD
    }
    std::size_t const tokens = offsets[call.count];
    std::size_t const columns = call.dimensions ? call.dimensions : sizes.hidden;
    surface_t<uform_rows_t> embeddings(call.arena, call.embeddings ? call.count : 0, columns, scalar);
    surface_t<uform_rows_tape_t> states(call.arena, call.states ? tokens : 0, sizes.hidden, scalar);
    surface_t<uform_rows_tape_t> vectors(call.arena, call.token_vectors ? tokens : 0, sizes.token_width, scalar);
    states.view.offsets = vectors.view.offsets = offsets;
    for (std::size_t i = 0; i < call.count; ++i) {
        std::string_view const bytes = shown(i);
        if (call.embeddings) embeddings.put(i, row_of(hash_of('e', bytes), 0, columns, 1));
        for (std::size_t token = offsets[i]; token < offsets[i + 1]; ++token) {
            std::size_t const row = token - offsets[i];
            if (call.states) states.put(token, row_of(hash_of('s', bytes), row, sizes.hidden, std::sqrt(sizes.hidden)));
            if (call.token_vectors) vectors.put(token, row_of(hash_of('t', bytes), row, sizes.token_width, 1));
        }
        advance(call.progress, i + 1, call.count);
    }
    if (call.embeddings) *call.embeddings = embeddings.view;
    if (call.states) *call.states = states.view;
    if (call.token_vectors) *call.token_vectors = vectors.view;
    if (call.stats) *call.stats = {truncated, tokens};
}

void text_encode(uform_text_encode_t const &call) {
    std::size_t const context = call.model->sizes.context;
    auto const text = [&](std::size_t i) { return item_of(call.texts, i); };
    encode(
        call, [&](std::size_t i) { return text(i).size(); }, [&](std::size_t i) { return text(i).substr(0, context); });
}

template <typename call_>
void check_image_entry(call_ const &call) {
    if (!call.model->sizes.image.patch_side) unsupported("the model has no image entry, so it encodes no pictures");
}
void check_image_encode(uform_image_encode_t const &call) {
    check_image_entry(call);
    check_tape(UFORM_STUB_FIELD("files"), call.files, call.count, uform_scalar_u8_k);
    check_surfaces(call);
    check_inputs(call.arena, {input_of("files.data", call.files, call.count),
                              offsets_of("files.offsets", call.files.offsets, call.count)});
}
void image_encode(uform_image_encode_t const &call) {
    std::vector<std::size_t> patches;
    for (std::size_t i = 0; i < call.count; ++i)
        patches.push_back(patches_of(read_sides(item_of(call.files, i), call.limits, i), call.model->sizes.image.patch_side));
    encode(
        call, [&](std::size_t i) { return patches[i]; }, [&](std::size_t i) { return item_of(call.files, i); });
}

void check_picture(std::size_t height, std::size_t width, std::size_t bytes, std::size_t item) {
    std::size_t const limit = std::size_t(1) << 24;
    if (!height || !width) refuse("heights and widths must be above zero", {}, item);
    if (height >= limit || width >= limit) refuse("heights and widths must be below 2^24", {}, item);
    if (height * width * 3 != bytes)
        fail(uform_status_shape_mismatch_k, "pixels of an item are not heights * widths * 3", {}, item);
}
void check_image_encode_pixels(uform_image_encode_pixels_t const &call) {
    check_image_entry(call);
    check_tape(UFORM_STUB_FIELD("pixels"), call.pixels, call.count, uform_scalar_u8_k);
    if (call.count && !call.heights) refuse("heights must not be NULL");
    if (call.count && !call.widths) refuse("widths must not be NULL");
    for (std::size_t i = 0; i < call.count; ++i)
        check_picture(call.heights[i], call.widths[i], item_of(call.pixels, i).size(), i);
    check_surfaces(call);
    check_inputs(call.arena,
                 {input_of("pixels.data", call.pixels, call.count),
                  offsets_of("pixels.offsets", call.pixels.offsets, call.count),
                  input_of("heights", call.heights, call.count), input_of("widths", call.widths, call.count)});
}
void image_encode_pixels(uform_image_encode_pixels_t const &call) {
    auto const patches = [&](std::size_t i) {
        return patches_of({call.heights[i], call.widths[i]}, call.model->sizes.image.patch_side);
    };
    encode(call, patches, [&](std::size_t i) { return item_of(call.pixels, i); });
}

void check_video_encode(uform_video_encode_t const &call) {
    if (!call.model->sizes.video.patch_side) unsupported("the model has no video entry, so it encodes no clips");
    check_tape(UFORM_STUB_FIELD("files"), call.files, call.count, uform_scalar_u8_k);
    check_surfaces(call);
    check_inputs(call.arena, {input_of("files.data", call.files, call.count),
                              offsets_of("files.offsets", call.files.offsets, call.count)});
}
void video_encode(uform_video_encode_t const &call) {
    std::vector<tubes_t> tubes;
    for (std::size_t i = 0; i < call.count; ++i)
        tubes.push_back(tubes_of(read_clip(item_of(call.files, i), call.limits, i), call.model->sizes.video));
    encode(
        call, [&](std::size_t i) { return counted_t(tubes[i].tokens, tubes[i].is_cut); },
        [&](std::size_t i) { return item_of(call.files, i); });
}

template <typename call_>
void check_audio_entry(call_ const &call) {
    if (!call.model->sizes.audio.chunk_samples)
        unsupported("the model has no audio entry, so it encodes no recordings");
}
void check_audio_encode(uform_audio_encode_t const &call) {
    check_audio_entry(call);
    check_tape(UFORM_STUB_FIELD("files"), call.files, call.count, uform_scalar_u8_k);
    check_surfaces(call);
    check_inputs(call.arena, {input_of("files.data", call.files, call.count),
                              offsets_of("files.offsets", call.files.offsets, call.count)});
}
void check_audio_encode_samples(uform_audio_encode_samples_t const &call) {
    check_audio_entry(call);
    check_tape(UFORM_STUB_FIELD("samples"), call.samples, call.count, uform_scalar_f32_k);
    if (call.sample_rate > std::size_t(1) << 20) refuse("sample_rate must be at most 2^20");
    check_surfaces(call);
    check_inputs(call.arena, {input_of("samples.data", call.samples, call.count),
                              offsets_of("samples.offsets", call.samples.offsets, call.count)});
}

std::span<float const> samples_of(uform_tape_view_t const &view, std::size_t i) noexcept {
    if (!view.data) return {};
    return {static_cast<float const *>(view.data) + view.offsets[i], view.offsets[i + 1] - view.offsets[i]};
}

/** Rows of recordings: 512 chunks of each at most, and of one without samples an empty text's. */
template <typename call_, typename bytes_>
void encode_recordings(call_ const &call, std::vector<std::size_t> const &chunks, bytes_ const &bytes) {
    encode(
        call, [&](std::size_t i) { return counted_t(std::min<std::size_t>(chunks[i], 512), chunks[i] > 512); },
        [&](std::size_t i) { return chunks[i] ? bytes(i) : std::string_view(); });
}
void audio_encode(uform_audio_encode_t const &call) {
    std::vector<std::size_t> chunks;
    auto const file = [&](std::size_t i) { return item_of(call.files, i); };
    for (std::size_t i = 0; i < call.count; ++i)
        chunks.push_back(chunks_of(read_length(file(i), call.limits, i), call.model->sizes.audio));
    encode_recordings(call, chunks, file);
}
void audio_encode_samples(uform_audio_encode_samples_t const &call) {
    uform_audio_shape_t const &shape = call.model->sizes.audio;
    std::vector<std::size_t> chunks;
    auto const samples = [&](std::size_t i) { return samples_of(call.samples, i); };
    for (std::size_t i = 0; i < call.count; ++i) {
        std::span<float const> const values = samples(i);
        if (std::any_of(values.begin(), values.end(), [](float x) { return !std::isfinite(x); }))
            fail(uform_status_malformed_k, "a sample is NaN or infinite", {}, i);
        chunks.push_back(chunks_of({values.size(), call.sample_rate ? call.sample_rate : shape.sample_rate}, shape));
    }
    encode_recordings(call, chunks, [&](std::size_t i) {
        return std::string_view(reinterpret_cast<char const *>(samples(i).data()), samples(i).size() * sizeof(float));
    });
}

} // namespace
} // namespace uform_stub

using namespace uform_stub;

extern "C" {

void uform_text_encode(uform_text_encode_t *arguments) { run_verb<check_text_encode, text_encode>(arguments); }
void uform_image_encode(uform_image_encode_t *arguments) { run_verb<check_image_encode, image_encode>(arguments); }
void uform_image_encode_pixels(uform_image_encode_pixels_t *arguments) {
    run_verb<check_image_encode_pixels, image_encode_pixels>(arguments);
}
void uform_video_encode(uform_video_encode_t *arguments) { run_verb<check_video_encode, video_encode>(arguments); }
void uform_audio_encode(uform_audio_encode_t *arguments) { run_verb<check_audio_encode, audio_encode>(arguments); }
void uform_audio_encode_samples(uform_audio_encode_samples_t *arguments) {
    run_verb<check_audio_encode_samples, audio_encode_samples>(arguments);
}
void uform_text_choose(uform_text_choose_t *arguments) { run_verb<check_text_choose, text_choose>(arguments); }
void uform_rerank(uform_rerank_t *arguments) { run_verb<check_rerank, rerank>(arguments); }

} // extern "C"
