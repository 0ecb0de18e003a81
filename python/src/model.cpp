/**
 *  @file model.cpp
 *  @brief `uform.Model` and its receivers `uform.On` and `uform.DeferredOn`, which share every verb.
 */
#include "records.hpp"
#include "verbs.hpp"

namespace binding {

PyTypeObject *model_type = nullptr;

namespace {

PyTypeObject *verbs_type = nullptr, *on_type = nullptr, *deferred_on_type = nullptr;

PyObject *make_receiver(PyTypeObject *type, PyObject *model, PyObject *executor) noexcept {
    executor_object_t *checked = nullptr;
    if (!to_executor(executor, checked)) return nullptr;
    if (!checked) return PyErr_SetString(PyExc_TypeError, "executor must be a uform.Executor, not None"), nullptr;
    auto *const self = make<receiver_object_t>(type);
    if (!self) return nullptr;
    self->handle = reference_t::borrowed(model).release(), self->executor = reference_t::borrowed(executor).release();
    return reinterpret_cast<PyObject *>(self);
}

PyObject *on(PyObject *self, PyObject *executor) noexcept { return make_receiver(on_type, self, executor); }
PyObject *deferred(PyObject *self, PyObject *executor) noexcept {
    return make_receiver(deferred_on_type, self, executor);
}

PyObject *describe(PyObject *self, PyObject *) noexcept {
    uform_outcome_t outcome;
    uform_model_description_t description {};
    uform_model_describe_t call {reinterpret_cast<model_object_t *>(self)->handle, &outcome, &description};
    uform_model_describe(&call);
    return outcome.status == uform_status_success_k ? from_record(record_model_description_k, &description)
                                                    : raise(outcome);
}

void deallocate_model(PyObject *object) noexcept { // calls hold a reference, so none is left
    uform_model_free(reinterpret_cast<model_object_t *>(object)->handle);
    forget(object);
}

void deallocate_receiver(PyObject *object) noexcept {
    auto *const self = reinterpret_cast<receiver_object_t *>(object);
    Py_XDECREF(self->handle), Py_XDECREF(self->executor);
    forget(object);
}

#define UFORM_OUTPUTS_DOC                                                                                              \
    "Answers a uform.Encoded of views over `arena`: embeddings (count, dimensions), states (tokens, hidden) and "      \
    "token "                                                                                                           \
    "vectors (tokens, token_width), those that `outputs` names. `dimensions` keeps a prefix of each embedding, "       \
    "scaled "                                                                                                          \
    "back to unit length; 0 keeps all. `outputs_scalar` is F32, BF16, F16, or I8 for unit rows. `stats` is "           \
    "overwritten "                                                                                                     \
    "on success. `progress(completed, total)` counts items; False stops the call.\n\n"
#define UFORM_ENCODE_RAISES                                                                                            \
    "Raises ContendedError where the arena or executor is in use, ShapeMismatchError, CancelledError, "                \
    "UnsupportedError for what the model lacks, and with the `item` at fault InvalidTypeError, UnknownKindError and "  \
    "MalformedError."

PyMethodDef verb_methods[] = {
    fast(
        "text_encode", text_encode,
        "text_encode($self, /, texts, arena, *, outputs=None, dimensions=0, outputs_scalar=None, stats=None, "
        "progress=None)\n--\n\nEncodes texts, a token per byte: a sequence of str or bytes-like, or a tuple of a uint8 "
        "buffer, lent, and uint64 offsets. " UFORM_OUTPUTS_DOC UFORM_ENCODE_RAISES),
    fast("image_encode", image_encode,
         "image_encode($self, /, files, arena, *, outputs=None, dimensions=0, outputs_scalar=None, stats=None, "
         "progress=None, limits=None)\n--\n\nEncodes JPEG, PNG or WebP files, bytes-like each, or a lent "
         "tape. " UFORM_OUTPUTS_DOC UFORM_ENCODE_RAISES),
    fast("image_encode_pixels", image_encode_pixels,
         "image_encode_pixels($self, /, pixels, arena, *, outputs=None, dimensions=0, outputs_scalar=None, stats=None, "
         "progress=None)\n--\n\nEncodes decoded pictures: C-contiguous [height, width, 3] uint8 buffers of RGB, rows "
         "from "
         "the top. " UFORM_OUTPUTS_DOC UFORM_ENCODE_RAISES),
    fast("video_encode", video_encode,
         "video_encode($self, /, files, arena, *, outputs=None, dimensions=0, outputs_scalar=None, stats=None, "
         "progress=None, limits=None)\n--\n\nEncodes MP4 or WebM clips, bytes-like each, or a lent "
         "tape. " UFORM_OUTPUTS_DOC UFORM_ENCODE_RAISES),
    fast("audio_encode", audio_encode,
         "audio_encode($self, /, files, arena, *, outputs=None, dimensions=0, outputs_scalar=None, stats=None, "
         "progress=None, limits=None)\n--\n\nEncodes WAV, FLAC, MP3 or Opus recordings, bytes-like each, or a lent "
         "tape. " UFORM_OUTPUTS_DOC UFORM_ENCODE_RAISES),
    fast(
        "audio_encode_samples", audio_encode_samples,
        "audio_encode_samples($self, /, samples, sample_rate, arena, *, outputs=None, dimensions=0, "
        "outputs_scalar=None, stats=None, progress=None)\n--\n\nEncodes mono samples in [-1, 1] at `sample_rate` hertz "
        "(0: the model's own): 1-D float32 buffers, or a lent tape of float32. " UFORM_OUTPUTS_DOC UFORM_ENCODE_RAISES),
    fast("text_choose", text_choose,
         "text_choose($self, /, texts, choices, arena, *, temperature_groups=None, outputs_scalar=None, stats=None, "
         "progress=None)\n--\n\nScores each text's legal answers, one byte each. Answers a uform.RowsTape of "
         "probabilities (choices,), in the order of `choices`, summing to one per text.\n\nRaises UnsupportedError "
         "where "
         "the model has no byte decoder, InvalidArgumentError with the `item` for equal choices or a group beyond the "
         "model's."),
    fast("rerank", rerank,
         "rerank($self, /, query, documents, arena, *, outputs_scalar=None, progress=None)\n--\n\nScores documents "
         "against one query by late interaction, the mean over the query's token vectors of the largest inner product. "
         "`query` is rows (tokens, width), `documents` a uform.RowsTape or a tuple of rows and uint64 offsets, of one "
         "scalar and width. Answers a uform.ArenaBuffer (count,) in the order of the documents.\n\nRaises "
         "ShapeMismatchError for a query or document without rows, InvalidArgumentError where `arena` holds the "
         "inputs."),
    {}};
PyType_Slot verb_slots[] = {
    {Py_tp_methods, verb_methods},
    {Py_tp_doc, const_cast<char *>("The verbs that a model, model.on(executor) and model.deferred(executor) share.")},
    {0, nullptr}};
PyType_Spec verb_spec {"uform.Verbs", sizeof(PyObject), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, verb_slots};

#define UFORM_LOAD_DOC                                                                                                 \
    "`quantization` is BF16, as stored, or E4M3, half the memory; `progress(completed, total)` counts groups of "      \
    "matrices."                                                                                                        \
    "\n\nRaises InputOutputError, MalformedError naming the tensor in `detail`, UnsupportedError for a class that is " \
    "not "                                                                                                             \
    "here."
PyMethodDef model_methods[] = {
    fast("load_ram", load_ram,
         "load_ram(path, *, quantization=None, executor=None, cpu_class=None, memory_domains=None, "
         "progress=None)\n--\n\n"
         "Maps a safetensors checkpoint and packs it for one CPU class. " UFORM_LOAD_DOC,
         METH_STATIC),
    fast("load_ram_buffer", load_ram_buffer,
         "load_ram_buffer(buffer, *, quantization=None, executor=None, cpu_class=None, memory_domains=None, "
         "progress=None)\n--\n\nThe same from a checkpoint's bytes, which are not needed afterwards. " UFORM_LOAD_DOC,
         METH_STATIC),
    fast(
        "load_vram", load_vram,
        "load_vram(path, *, devices=None, quantization=None, executor=None, gpu_class=None, progress=None)\n--\n\nOnto "
        "GPUs, by positions in uform.gpu_devices(). " UFORM_LOAD_DOC,
        METH_STATIC),
    fast("load_vram_buffer", load_vram_buffer,
         "load_vram_buffer(buffer, *, devices=None, quantization=None, executor=None, gpu_class=None, progress=None)\n"
         "--\n\nThe same from a checkpoint's bytes. " UFORM_LOAD_DOC,
         METH_STATIC),
    {"on", on, METH_O, "on($self, executor, /)\n--\n\nA receiver whose verbs block on an executor."},
    {"deferred", deferred, METH_O,
     "deferred($self, executor, /)\n--\n\nA receiver whose verbs submit to an executor and answer a uform.Deferred."},
    {"describe", describe, METH_NOARGS,
     "describe($self, /)\n--\n\nWhat the model is and can answer, as a uform.ModelDescription."},
    {}};
PyType_Slot model_slots[] = {
    {Py_tp_dealloc, reinterpret_cast<void *>(deallocate_model)},
    {Py_tp_methods, model_methods},
    {Py_tp_doc, const_cast<char *>("A loaded checkpoint: immutable, shared freely by threads. Its verbs run on the "
                                   "calling thread.")},
    {0, nullptr}};
PyType_Spec model_spec {"uform.Model", sizeof(model_object_t), 0, Py_TPFLAGS_DEFAULT, model_slots};

PyType_Slot on_slots[] = {{Py_tp_dealloc, reinterpret_cast<void *>(deallocate_receiver)},
                          {Py_tp_doc, const_cast<char *>("A model's verbs, blocking on an executor.")},
                          {0, nullptr}};
PyType_Slot deferred_slots[] = {
    {Py_tp_dealloc, reinterpret_cast<void *>(deallocate_receiver)},
    {Py_tp_doc, const_cast<char *>("A model's verbs, submitted to an executor: each answers "
                                   "a uform.Deferred.")},
    {0, nullptr}};
PyType_Spec on_spec {"uform.On", sizeof(receiver_object_t), 0, Py_TPFLAGS_DEFAULT, on_slots};
PyType_Spec deferred_spec {"uform.DeferredOn", sizeof(receiver_object_t), 0, Py_TPFLAGS_DEFAULT, deferred_slots};

} // namespace

receiver_t receiver_of(PyObject *self) noexcept {
    if (Py_TYPE(self) == model_type) return {self};
    auto *const receiver = reinterpret_cast<receiver_object_t *>(self);
    auto *const executor = reinterpret_cast<executor_object_t *>(receiver->executor);
    bool const queued = Py_TYPE(self) == deferred_on_type;
    return {receiver->handle, executor, queued ? uform_completion_queued_k : uform_completion_blocking_k};
}

bool add_encoding(PyObject *module) noexcept {
    return (verbs_type = add_type(module, verb_spec)) && (model_type = add_type(module, model_spec, verbs_type)) &&
           (on_type = add_type(module, on_spec, verbs_type)) &&
           (deferred_on_type = add_type(module, deferred_spec, verbs_type));
}

} // namespace binding
