/**
 *  @file score.cpp
 *  @brief Choosing between bytes and reranking: the verbs of encode.h that answer scores.
 */
#include "buffers.hpp"
#include "enums.hpp"
#include "records.hpp"
#include "verbs.hpp"

namespace binding {
namespace {

struct choose_call_t : call_t {
    uform_text_choose_t arguments {};
    tape_t texts, choices;
    array_t<std::uint32_t> groups;
    reference_t stats;
    uform_encode_stats_t counted {};
    uform_rows_tape_t probabilities {};

    void enter(uform_completion_t completion) noexcept override {
        arguments.executor = executor_handle, arguments.outcome = &outcome, arguments.completion = completion;
        arguments.model = reinterpret_cast<model_object_t *>(held.get())->handle;
        arguments.texts = texts.view(), arguments.choices = choices.view(), arguments.count = texts.count();
        arguments.temperature_groups = groups.data(), arguments.probabilities = &probabilities;
        arguments.arena = arena_handle(), arguments.progress = progress();
        if (stats) arguments.stats = &counted;
        uform_text_choose(&arguments);
    }
    PyObject *result() noexcept override {
        write_stats(stats.get(), &counted, sizeof(counted));
        return make_rows_tape(*this, probabilities, texts.count(), true);
    }
};

bool take_choose(choose_call_t &call, receiver_t const &receiver, PyObject *const *values) noexcept {
    return call.receive(receiver) && to_arena(values[2], call.arena) &&
           to_enum(enum_scalar_k, values[4], "outputs_scalar", call.arguments.outputs_scalar) &&
           to_stats(record_text_choose_stats_k, values[5], call.stats) && call.take_handler(values[6]) &&
           call.texts.take(values[0], "texts", uform_scalar_u8_k) &&
           call.choices.take_as_many(values[1], "choices", uform_scalar_u8_k, call.texts.count()) &&
           call.groups.take(values[3], "temperature_groups", call.texts.count());
}

struct rerank_call_t : call_t {
    uform_rerank_t arguments {};
    buffer_t query, documents;
    array_t<std::size_t> offsets;
    uform_rows_t scores {};

    void enter(uform_completion_t completion) noexcept override {
        arguments.executor = executor_handle, arguments.outcome = &outcome, arguments.completion = completion;
        arguments.scores = &scores, arguments.arena = arena_handle(), arguments.progress = progress();
        uform_rerank(&arguments);
    }
    PyObject *result() noexcept override { return make_rows(*this, scores, true); }
};

/** Documents: an output with its offsets, or a tuple of rows and offsets. */
bool take_documents(rerank_call_t &call, PyObject *value, PyObject *&arena) noexcept {
    reference_t offsets(offsets_of(value));
    PyObject *rows = value;
    if (!offsets && !PyErr_Occurred() && PyTuple_Check(value) && PyTuple_GET_SIZE(value) == 2)
        rows = PyTuple_GET_ITEM(value, 0), offsets = reference_t::borrowed(PyTuple_GET_ITEM(value, 1));
    if (!offsets) {
        if (!PyErr_Occurred())
            PyErr_Format(PyExc_TypeError,
                         "documents must be a uform.RowsTape or a tuple of rows and offsets, not %.100s",
                         Py_TYPE(value)->tp_name);
        return false;
    }
    uform_rows_t got {};
    if (!to_rows(rows, "documents", call.documents, got, arena)) return false;
    if (!call.offsets.take(offsets.get(), "documents.offsets")) return false;
    if (call.offsets.count() == 0)
        return raise(uform_status_invalid_argument_k,
                     "documents.offsets are one more than the documents, so at least one"),
               false;
    call.arguments.documents = {got.data, got.count, got.columns, got.stride, got.scalar, call.offsets.data()};
    call.arguments.count = call.offsets.count() - 1;
    return true;
}

bool take_rerank(rerank_call_t &call, receiver_t const &receiver, PyObject *const *values) noexcept {
    PyObject *query_arena = nullptr, *documents_arena = nullptr;
    if (!call.receive(receiver) || !to_arena(values[2], call.arena) ||
        !to_enum(enum_scalar_k, values[3], "outputs_scalar", call.arguments.outputs_scalar) ||
        !call.take_handler(values[4]) || !to_rows(values[0], "query", call.query, call.arguments.query, query_arena) ||
        !take_documents(call, values[1], documents_arena))
        return false;
    if (query_arena != call.arena.get() && documents_arena != call.arena.get()) return true;
    return raise(uform_status_invalid_argument_k, "arena holds rows that the call reads; name another"), false;
}

PyObject *rerank_as(receiver_t const &receiver, PyObject *const *values) noexcept {
    auto *const call = new (std::nothrow) rerank_call_t;
    if (!call) return PyErr_NoMemory();
    if (!take_rerank(*call, receiver, values)) return delete call, nullptr;
    return run(call, receiver.completion);
}

} // namespace

PyObject *text_choose(PyObject *self, PyObject *const *given_, Py_ssize_t count, PyObject *names) noexcept {
    static char const *const words[] = {"texts",          "choices", "arena",   "temperature_groups",
                                        "outputs_scalar", "stats",   "progress"};
    PyObject *values[7];
    if (!parse({"text_choose", words, 7, 3, 3}, given_, count, names, values)) return nullptr;
    receiver_t const receiver = receiver_of(self);
    auto *const call = new (std::nothrow) choose_call_t;
    if (!call) return PyErr_NoMemory();
    if (!take_choose(*call, receiver, values)) return delete call, nullptr;
    return run(call, receiver.completion);
}

PyObject *rerank(PyObject *self, PyObject *const *given_, Py_ssize_t count, PyObject *names) noexcept {
    static char const *const words[] = {"query", "documents", "arena", "outputs_scalar", "progress"};
    PyObject *values[5];
    if (!parse({"rerank", words, 5, 3, 3}, given_, count, names, values)) return nullptr;
    return rerank_as(receiver_of(self), values);
}

PyObject *rerank_alone(PyObject *, PyObject *const *given_, Py_ssize_t count, PyObject *names) noexcept {
    static char const *const words[] = {"query", "documents", "arena", "outputs_scalar", "progress", "executor"};
    PyObject *values[6];
    receiver_t receiver;
    if (!parse({"rerank", words, 6, 3, 3}, given_, count, names, values) || !to_executor(values[5], receiver.executor))
        return nullptr;
    return rerank_as(receiver, values);
}

} // namespace binding
