/**
 *  @file encode.cpp
 *  @brief The verbs of `uform/encode.h` that encode text; choosing and reranking are in score.cpp.
 */
#include <uform/encode.h>

#include "arguments.hpp"
#include "call.hpp"
#include "inputs.hpp"
#include "model.hpp"
#include "rows.hpp"
#include "score.hpp"

namespace uform_stub {
namespace {

constexpr char const text_alone_k[] = "this build encodes text alone";

void check_text_encode(uform_text_encode_t const &call) {
    check_tape(UFORM_STUB_FIELD("texts"), call.texts, call.count, uform_scalar_u8_k);
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

void text_encode(uform_text_encode_t const &call) {
    sizes_t const &sizes = call.model->sizes;
    uform_scalar_t const scalar = call.outputs_scalar ? call.outputs_scalar : uform_scalar_f32_k;
    auto *const offsets = reinterpret_cast<std::size_t *>(call.arena->claim((call.count + 1) * sizeof(std::size_t)));
    std::size_t truncated = 0;
    for (std::size_t i = 0; i < call.count; ++i) {
        std::size_t const bytes = item_of(call.texts, i).size();
        truncated += bytes > sizes.context;
        offsets[i + 1] = offsets[i] + std::clamp<std::size_t>(bytes, 1, sizes.context); // an empty text is one PAD
    }
    std::size_t const tokens = offsets[call.count];
    std::size_t const columns = call.dimensions ? call.dimensions : sizes.hidden;
    surface_t<uform_rows_t> embeddings(call.arena, call.embeddings ? call.count : 0, columns, scalar);
    surface_t<uform_rows_tape_t> states(call.arena, call.states ? tokens : 0, sizes.hidden, scalar);
    surface_t<uform_rows_tape_t> vectors(call.arena, call.token_vectors ? tokens : 0, sizes.token_width, scalar);
    states.view.offsets = vectors.view.offsets = offsets;
    for (std::size_t i = 0; i < call.count; ++i) {
        std::string_view const text = item_of(call.texts, i).substr(0, sizes.context);
        if (call.embeddings) embeddings.put(i, row_of(hash_of('e', text), 0, columns, 1));
        for (std::size_t token = offsets[i]; token < offsets[i + 1]; ++token) {
            std::size_t const row = token - offsets[i];
            if (call.states) states.put(token, row_of(hash_of('s', text), row, sizes.hidden, std::sqrt(sizes.hidden)));
            if (call.token_vectors) vectors.put(token, row_of(hash_of('t', text), row, sizes.token_width, 1));
        }
        advance(call.progress, i + 1, call.count);
    }
    if (call.embeddings) *call.embeddings = embeddings.view;
    if (call.states) *call.states = states.view;
    if (call.token_vectors) *call.token_vectors = vectors.view;
    if (call.stats) *call.stats = {truncated, tokens};
}

} // namespace
} // namespace uform_stub

using namespace uform_stub;

extern "C" {

void uform_text_encode(uform_text_encode_t *arguments) { run_verb<check_text_encode, text_encode>(arguments); }
void uform_image_encode(uform_image_encode_t *arguments) { refuse_verb(arguments, text_alone_k); }
void uform_image_encode_pixels(uform_image_encode_pixels_t *arguments) { refuse_verb(arguments, text_alone_k); }
void uform_video_encode(uform_video_encode_t *arguments) { refuse_verb(arguments, text_alone_k); }
void uform_audio_encode(uform_audio_encode_t *arguments) { refuse_verb(arguments, text_alone_k); }
void uform_audio_encode_samples(uform_audio_encode_samples_t *arguments) { refuse_verb(arguments, text_alone_k); }
void uform_text_choose(uform_text_choose_t *arguments) { run_verb<check_text_choose, text_choose>(arguments); }
void uform_rerank(uform_rerank_t *arguments) { run_verb<check_rerank, rerank>(arguments); }

} // extern "C"
