/**
 *  @file encode.cpp
 *  @brief The encode verbs: one call type over the six C structs, which differ in their items alone.
 */
#include "buffers.hpp"
#include "enums.hpp"
#include "records.hpp"
#include "verbs.hpp"
#include "words.hpp"

namespace binding {
namespace {

/** A call of one encode verb. */
template <typename arguments_, void (*verb_)(arguments_ *)>
struct encode_call_t : call_t {
    arguments_ arguments {};
    tape_t items;
    memory_t<std::size_t> heights, widths;
    reference_t stats;
    uform_encode_stats_t counted {};
    uform_rows_t embeddings {};
    uform_rows_tape_t states {}, token_vectors {};

    void enter(uform_completion_t completion) noexcept override {
        arguments.executor = executor_handle, arguments.outcome = &outcome, arguments.completion = completion;
        arguments.model = reinterpret_cast<model_object_t *>(held.get())->handle;
        arguments.arena = arena_handle(), arguments.progress = progress();
        if (stats) arguments.stats = &counted;
        verb_(&arguments);
    }
    PyObject *result() noexcept override {
        write_stats(stats.get(), &counted, sizeof(counted));
        return make_encoded(*this, arguments.embeddings, arguments.states, arguments.token_vectors, arguments.count);
    }
};

/** What the six verbs take by keyword, the same in each, and behind their items and arena. */
#define UFORM_ENCODE_WORDS "outputs", "dimensions", "outputs_scalar", "stats", "progress"
struct shared_t {
    PyObject *outputs, *dimensions, *outputs_scalar, *stats, *progress;
};

template <typename call_>
bool take_shared(call_ &call, receiver_t const &receiver, PyObject *arena, PyObject *const *values,
                 record_t stats) noexcept {
    shared_t const words {values[0], values[1], values[2], values[3], values[4]};
    unsigned outputs = embeddings_k;
    if (!call.receive(receiver) || !to_arena(arena, call.arena) || !to_outputs(words.outputs, outputs) ||
        !to_size(words.dimensions, "dimensions", call.arguments.dimensions) ||
        !to_enum(enum_scalar_k, words.outputs_scalar, "outputs_scalar", call.arguments.outputs_scalar) ||
        !to_stats(stats, words.stats, call.stats) || !call.take_handler(words.progress))
        return false;
    if (outputs & embeddings_k) call.arguments.embeddings = &call.embeddings;
    if (outputs & states_k) call.arguments.states = &call.states;
    if (outputs & token_vectors_k) call.arguments.token_vectors = &call.token_vectors;
    return true;
}

template <typename call_>
call_ *make_call() noexcept {
    auto *const call = new (std::nothrow) call_;
    if (!call) PyErr_NoMemory();
    return call;
}

/** A verb over files: image, video and audio differ in their C struct. */
template <typename call_>
PyObject *encode_files(char const *name, record_t stats, PyObject *self, PyObject *const *given_, Py_ssize_t count,
                       PyObject *names) noexcept {
    static char const *const words[] = {"files", "arena", UFORM_ENCODE_WORDS, "limits"};
    PyObject *values[8];
    if (!parse({name, words, 8, 2, 2}, given_, count, names, values)) return nullptr;
    receiver_t const receiver = receiver_of(self);
    call_ *const call = make_call<call_>();
    reference_t limits;
    if (!call) return nullptr;
    if (!take_shared(*call, receiver, values[1], values + 2, stats) ||
        !to_record(record_limits_k, values[7], "limits", limits, &call->arguments.limits) ||
        !call->items.take(values[0], "files", uform_scalar_u8_k, false))
        return delete call, nullptr;
    call->arguments.files = call->items.view(), call->arguments.count = call->items.count();
    return run(call, receiver.completion);
}

using pixels_call_t = encode_call_t<uform_image_encode_pixels_t, uform_image_encode_pixels>;

/** Heights and widths of [height, width, 3] uint8 buffers, and the same buffers as the bytes the tape gathers. */
bool take_pixels(pixels_call_t &call, PyObject *value) noexcept {
    reference_t const pictures(to_items(value, "pixels"));
    if (!pictures) return false;
    std::size_t const count = std::size_t(PyTuple_GET_SIZE(pictures.get()));
    if (!call.heights.allocate(count) || !call.widths.allocate(count)) return false;
    for (std::size_t index = 0; index < count; ++index) {
        buffer_t picture;
        if (!picture.borrow(PyTuple_GET_ITEM(pictures.get(), index), "pixels")) return blame_item(index);
        Py_buffer const &view = picture.view();
        if (!picture.is_bytes() || view.ndim != 3)
            return PyErr_SetString(PyExc_TypeError, "pixels must be [height, width, 3] buffers of uint8"),
                   blame_item(index);
        if (view.shape[2] != 3)
            return raise_item(uform_status_shape_mismatch_k, index, "pixels must have three channels"), false;
        call.heights[index] = std::size_t(view.shape[0]), call.widths[index] = std::size_t(view.shape[1]);
    }
    if (!call.items.take(pictures.get(), "pixels", uform_scalar_u8_k, false)) return false;
    call.arguments.pixels = call.items.view(), call.arguments.count = count;
    call.arguments.heights = call.heights.data(), call.arguments.widths = call.widths.data();
    return true;
}

} // namespace

PyObject *text_encode(PyObject *self, PyObject *const *given_, Py_ssize_t count, PyObject *names) noexcept {
    static char const *const words[] = {"texts", "arena", UFORM_ENCODE_WORDS};
    PyObject *values[7];
    if (!parse({"text_encode", words, 7, 2, 2}, given_, count, names, values)) return nullptr;
    receiver_t const receiver = receiver_of(self);
    auto *const call = make_call<encode_call_t<uform_text_encode_t, uform_text_encode>>();
    if (!call) return nullptr;
    if (!take_shared(*call, receiver, values[1], values + 2, record_text_encode_stats_k) ||
        !call->items.take(values[0], "texts", uform_scalar_u8_k))
        return delete call, nullptr;
    call->arguments.texts = call->items.view(), call->arguments.count = call->items.count();
    return run(call, receiver.completion);
}

PyObject *image_encode(PyObject *self, PyObject *const *given_, Py_ssize_t count, PyObject *names) noexcept {
    using images_t = encode_call_t<uform_image_encode_t, uform_image_encode>;
    return encode_files<images_t>("image_encode", record_image_encode_stats_k, self, given_, count, names);
}
PyObject *video_encode(PyObject *self, PyObject *const *given_, Py_ssize_t count, PyObject *names) noexcept {
    using clips_t = encode_call_t<uform_video_encode_t, uform_video_encode>;
    return encode_files<clips_t>("video_encode", record_video_encode_stats_k, self, given_, count, names);
}
PyObject *audio_encode(PyObject *self, PyObject *const *given_, Py_ssize_t count, PyObject *names) noexcept {
    using recordings_t = encode_call_t<uform_audio_encode_t, uform_audio_encode>;
    return encode_files<recordings_t>("audio_encode", record_audio_encode_stats_k, self, given_, count, names);
}

PyObject *image_encode_pixels(PyObject *self, PyObject *const *given_, Py_ssize_t count, PyObject *names) noexcept {
    static char const *const words[] = {"pixels", "arena", UFORM_ENCODE_WORDS};
    PyObject *values[7];
    if (!parse({"image_encode_pixels", words, 7, 2, 2}, given_, count, names, values)) return nullptr;
    receiver_t const receiver = receiver_of(self);
    auto *const call = make_call<pixels_call_t>();
    if (!call) return nullptr;
    if (!take_shared(*call, receiver, values[1], values + 2, record_image_encode_stats_k) ||
        !take_pixels(*call, values[0]))
        return delete call, nullptr;
    return run(call, receiver.completion);
}

PyObject *audio_encode_samples(PyObject *self, PyObject *const *given_, Py_ssize_t count, PyObject *names) noexcept {
    static char const *const words[] = {"samples", "sample_rate", "arena", UFORM_ENCODE_WORDS};
    PyObject *values[8];
    if (!parse({"audio_encode_samples", words, 8, 3, 3}, given_, count, names, values)) return nullptr;
    receiver_t const receiver = receiver_of(self);
    auto *const call = make_call<encode_call_t<uform_audio_encode_samples_t, uform_audio_encode_samples>>();
    if (!call) return nullptr;
    if (!take_shared(*call, receiver, values[2], values + 3, record_audio_encode_stats_k) ||
        !to_size(values[1], "sample_rate", call->arguments.sample_rate) ||
        !call->items.take(values[0], "samples", uform_scalar_f32_k))
        return delete call, nullptr;
    call->arguments.samples = call->items.view(), call->arguments.count = call->items.count();
    return run(call, receiver.completion);
}

} // namespace binding
