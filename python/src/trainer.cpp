/**
 *  @file trainer.cpp
 *  @brief `uform.Trainer` and its receivers: making one and saving it. step.cpp takes its steps.
 */
#include "enums.hpp"
#include "records.hpp"
#include "training.hpp"

namespace binding {

PyTypeObject *trainer_type = nullptr;

namespace {

PyTypeObject *verbs_type = nullptr, *on_type = nullptr, *deferred_on_type = nullptr;

template <void (*verb_)(uform_trainer_init_vram_t *)>
struct init_call_t : call_t {
    uform_trainer_init_vram_t arguments {};
    uform_trainer_t trainer = nullptr;
    reference_t mesh, kept[11];

    ~init_call_t() override { uform_trainer_free(trainer); }
    void enter(uform_completion_t completion) noexcept override {
        arguments.trainer = &trainer, arguments.executor = executor_handle, arguments.outcome = &outcome;
        arguments.completion = completion, arguments.progress = progress();
        verb_(&arguments);
    }
    PyObject *result() noexcept override {
        auto *const self = make<trainer_object_t>(trainer_type);
        if (!self) return nullptr;
        self->handle = std::exchange(trainer, nullptr);
        self->executor = executor.release(), self->mesh = mesh.release();
        return reinterpret_cast<PyObject *>(self);
    }
};

bool to_mesh(PyObject *value, reference_t &keep, uform_mesh_t &out) noexcept {
    if (!given(value)) return true;
    if (Py_TYPE(value) != mesh_type)
        return PyErr_Format(PyExc_TypeError, "mesh must be a uform.Mesh, not %.100s", Py_TYPE(value)->tp_name), false;
    keep = reference_t::borrowed(value);
    return out = reinterpret_cast<mesh_object_t *>(value)->handle, true;
}

char const *const init_words[] = {"executor",        "mesh",     "depth",       "hidden",           "batch",
                                  "objective",       "masking",  "contrastive", "late_interaction", "choices",
                                  "regularizers",    "schedule", "resume",      "initial",          "query_prefix",
                                  "document_prefix", "seed",     "progress"};
constexpr std::size_t init_words_k = sizeof(init_words) / sizeof(*init_words);

template <typename call_>
bool take_options(call_ &call, PyObject *const *values) noexcept {
    uform_trainer_init_vram_t &out = call.arguments;
    reference_t *const kept = call.kept;
    return to_mesh(values[1], call.mesh, out.mesh) && to_size(values[2], "depth", out.depth) &&
           to_size(values[3], "hidden", out.hidden) &&
           to_record(record_batch_shape_k, values[4], "batch", kept[0], &out.batch) &&
           to_enum(enum_objective_k, values[5], "objective", out.objective) &&
           to_record(record_masking_k, values[6], "masking", kept[1], &out.masking) &&
           to_record(record_contrastive_k, values[7], "contrastive", kept[2], &out.contrastive) &&
           to_record(record_late_interaction_k, values[8], "late_interaction", kept[3], &out.late_interaction) &&
           to_record(record_choices_k, values[9], "choices", kept[4], &out.choices) &&
           to_record(record_regularizers_k, values[10], "regularizers", kept[5], &out.regularizers) &&
           to_record(record_schedule_k, values[11], "schedule", kept[6], &out.schedule) &&
           to_path(values[12], kept[7], out.resume) && to_path(values[13], kept[8], out.initial) &&
           to_bytes(values[14], "query_prefix", kept[9], out.query_prefix) &&
           to_bytes(values[15], "document_prefix", kept[10], out.document_prefix) &&
           to_u64(values[16], "seed", out.seed) && call.take_handler(values[17]);
}

template <void (*verb_)(uform_trainer_init_vram_t *)>
PyObject *init(char const *name, PyObject *const *given_, Py_ssize_t count, PyObject *names) noexcept {
    PyObject *values[init_words_k];
    receiver_t receiver;
    if (!parse({name, init_words, init_words_k, 1, 0}, given_, count, names, values) ||
        !to_executor(values[0], receiver.executor))
        return nullptr;
    auto *const call = new (std::nothrow) init_call_t<verb_>;
    if (!call) return PyErr_NoMemory();
    if (!call->receive(receiver) || !take_options(*call, values)) return delete call, nullptr;
    return run(call, uform_completion_blocking_k);
}

struct save_call_t : call_t {
    uform_trainer_save_t arguments {};
    reference_t path;

    void enter(uform_completion_t completion) noexcept override {
        arguments.trainer = reinterpret_cast<trainer_object_t *>(held.get())->handle;
        arguments.executor = executor_handle, arguments.outcome = &outcome, arguments.completion = completion;
        arguments.progress = progress();
        uform_trainer_save(&arguments);
    }
    PyObject *result() noexcept override { return reference_t::borrowed(Py_None).release(); }
};

PyObject *make_receiver(PyTypeObject *type, PyObject *trainer, PyObject *executor) noexcept {
    executor_object_t *checked = nullptr;
    if (!to_executor(executor, checked)) return nullptr;
    if (!checked) return PyErr_SetString(PyExc_TypeError, "executor must be a uform.Executor, not None"), nullptr;
    auto *const self = make<receiver_object_t>(type);
    if (!self) return nullptr;
    self->handle = reference_t::borrowed(trainer).release(), self->executor = reference_t::borrowed(executor).release();
    return reinterpret_cast<PyObject *>(self);
}
PyObject *on(PyObject *self, PyObject *executor) noexcept { return make_receiver(on_type, self, executor); }
PyObject *deferred(PyObject *self, PyObject *executor) noexcept {
    return make_receiver(deferred_on_type, self, executor);
}

void deallocate_trainer(PyObject *object) noexcept { // calls hold a reference, so none is left
    auto *const self = reinterpret_cast<trainer_object_t *>(object);
    uform_trainer_free(self->handle);
    Py_XDECREF(self->executor), Py_XDECREF(self->mesh);
    forget(object);
}
void deallocate_receiver(PyObject *object) noexcept {
    auto *const self = reinterpret_cast<receiver_object_t *>(object);
    Py_XDECREF(self->handle), Py_XDECREF(self->executor);
    forget(object);
}

PyMethodDef verb_methods[] = {
    fast("step", step,
         "step($self, /, modalities, contents, *, bags=None, temperature_groups=None, sides=None, choices=None, "
         "choice_targets=None, relations=None, limits=None, arena=None, token_vectors=False, outputs_scalar=None, "
         "stats=None)\n--\n\nTakes one optimizer step. `modalities` is a uform.Modality per item or None for texts; "
         "`contents` a sequence of texts and of whole files, as modalities say, or a lent tape; `bags` and "
         "`temperature_groups` uint32 and "
         "`sides` a "
         "uform.LateInteractionSide per item; `choices` the legal bytes of each item and `choice_targets` a float32 "
         "tape "
         "as long; `relations` a uform.Relations. `stats`, a uform.TrainerStepStats, is overwritten on "
         "success.\n\nAnswers "
         "the uform.ArenaBuffer (count, hidden) of pooled embeddings the loss scored where an `arena` is given, with "
         "`token_vectors` a tuple of it and a uform.RowsTape, and None otherwise.\n\nRaises InvalidArgumentError, "
         "ShapeMismatchError, UnsupportedError for a modality the batch leaves out, MalformedError for a loss that is "
         "not "
         "finite, ConfigMismatchError or InputOutputError where another process failed."),
    fast("save", save,
         "save($self, /, path, *, optimizer=False, progress=None)\n--\n\nWrites the checkpoint, whole, then renamed "
         "over "
         "`path`; with `optimizer` the moments beside it, so that a resume repeats every bit.\n\nRaises "
         "InputOutputError."),
    {}};
PyType_Slot verb_slots[] = {
    {Py_tp_methods, verb_methods},
    {Py_tp_doc,
     const_cast<char *>("The verbs that a trainer, trainer.on(executor) and trainer.deferred(executor) share.")},
    {0, nullptr}};
PyType_Spec verb_spec {"uform.TrainerVerbs", sizeof(PyObject), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, verb_slots};

#define UFORM_INIT_WORDS                                                                                               \
    "executor=None, *, mesh=None, depth=0, hidden=0, batch=None, objective=None, masking=None, contrastive=None, "     \
    "late_interaction=None, choices=None, regularizers=None, schedule=None, resume=None, initial=None, "               \
    "query_prefix=None, document_prefix=None, seed=0, progress=None)\n--\n\n"
#define UFORM_INIT_DOC                                                                                                 \
    "`depth` blocks of `hidden` columns, a multiple of 128; the rest as the structs named alike say, zero being "      \
    "their "                                                                                                           \
    "default. `resume` is the path of a checkpoint to go on from, `initial` of one to start from.\n\nRaises "          \
    "InvalidArgumentError naming the field, ConfigMismatchError where `resume` is of another run."
PyMethodDef trainer_methods[] = {
    fast("init_ram", init_ram, "init_ram(" UFORM_INIT_WORDS "Makes a trainer on a RAM executor. " UFORM_INIT_DOC,
         METH_STATIC),
    fast("init_vram", init_vram,
         "init_vram(" UFORM_INIT_WORDS "Makes a trainer on a VRAM executor, a replica per device. " UFORM_INIT_DOC,
         METH_STATIC),
    {"on", on, METH_O, "on($self, executor, /)\n--\n\nA receiver whose verbs block on the trainer's executor."},
    {"deferred", deferred, METH_O,
     "deferred($self, executor, /)\n--\n\nA receiver whose verbs submit to the trainer's executor."},
    {}};
PyType_Slot trainer_slots[] = {
    {Py_tp_dealloc, reinterpret_cast<void *>(deallocate_trainer)},
    {Py_tp_methods, trainer_methods},
    {Py_tp_doc,
     const_cast<char *>("A training run: weights, gradients, moments, heads and temperatures. Its verbs block "
                        "on the executor it was made on.")},
    {0, nullptr}};
PyType_Spec trainer_spec {"uform.Trainer", sizeof(trainer_object_t), 0, Py_TPFLAGS_DEFAULT, trainer_slots};

PyType_Slot on_slots[] = {{Py_tp_dealloc, reinterpret_cast<void *>(deallocate_receiver)},
                          {Py_tp_doc, const_cast<char *>("A trainer's verbs, blocking on an executor.")},
                          {0, nullptr}};
PyType_Slot deferred_slots[] = {{Py_tp_dealloc, reinterpret_cast<void *>(deallocate_receiver)},
                                {Py_tp_doc, const_cast<char *>("A trainer's verbs, submitted: each answers a "
                                                               "uform.Deferred.")},
                                {0, nullptr}};
PyType_Spec on_spec {"uform.TrainerOn", sizeof(receiver_object_t), 0, Py_TPFLAGS_DEFAULT, on_slots};
PyType_Spec deferred_spec {"uform.TrainerDeferredOn", sizeof(receiver_object_t), 0, Py_TPFLAGS_DEFAULT, deferred_slots};

} // namespace

PyObject *init_ram(PyObject *, PyObject *const *given_, Py_ssize_t count, PyObject *names) noexcept {
    return init<uform_trainer_init_ram>("init_ram", given_, count, names);
}
PyObject *init_vram(PyObject *, PyObject *const *given_, Py_ssize_t count, PyObject *names) noexcept {
    return init<uform_trainer_init_vram>("init_vram", given_, count, names);
}

PyObject *save(PyObject *self, PyObject *const *given_, Py_ssize_t count, PyObject *names) noexcept {
    static char const *const words[] = {"path", "optimizer", "progress"};
    PyObject *values[3];
    if (!parse({"save", words, 3, 1, 1}, given_, count, names, values)) return nullptr;
    int const optimizer = values[1] ? PyObject_IsTrue(values[1]) : 0;
    if (optimizer < 0) return nullptr;
    receiver_t const receiver = trainer_receiver_of(self);
    auto *const call = new (std::nothrow) save_call_t;
    if (!call) return PyErr_NoMemory();
    call->arguments.optimizer = optimizer == 1;
    if (!call->receive(receiver) || !to_path(values[0], call->path, call->arguments.path) ||
        !call->take_handler(values[2]))
        return delete call, nullptr;
    return run(call, receiver.completion);
}

receiver_t trainer_receiver_of(PyObject *self) noexcept {
    if (Py_TYPE(self) == trainer_type) {
        PyObject *const executor = reinterpret_cast<trainer_object_t *>(self)->executor;
        return {self, reinterpret_cast<executor_object_t *>(executor), uform_completion_blocking_k};
    }
    auto *const receiver = reinterpret_cast<receiver_object_t *>(self);
    bool const queued = Py_TYPE(self) == deferred_on_type;
    return {receiver->handle, reinterpret_cast<executor_object_t *>(receiver->executor),
            queued ? uform_completion_queued_k : uform_completion_blocking_k};
}

bool add_training(PyObject *module) noexcept {
    return add_mesh(module) && (verbs_type = add_type(module, verb_spec)) &&
           (trainer_type = add_type(module, trainer_spec, verbs_type)) &&
           (on_type = add_type(module, on_spec, verbs_type)) &&
           (deferred_on_type = add_type(module, deferred_spec, verbs_type));
}

} // namespace binding
