/**
 *  @file step.cpp
 *  @brief `Trainer.step`: items, edges and choices lent to one optimizer step.
 */
#include "buffers.hpp"
#include "enums.hpp"
#include "records.hpp"
#include "training.hpp"

namespace binding {
namespace {

/** One set of edges: offsets, ids and weights. */
struct edges_t {
    array_t<std::size_t> offsets;
    array_t<std::uint32_t> ids;
    array_t<float> weights;

    /** A tuple of two or three, as `uform.Edges` is; the ids must reach as far as the offsets say. */
    bool take(PyObject *value, char const *set, std::size_t items, uform_edges_view_t &out) noexcept {
        if (!given(value)) return true;
        Py_ssize_t const parts = PyTuple_Check(value) ? PyTuple_GET_SIZE(value) : 0;
        if (parts != 2 && parts != 3)
            return PyErr_SetString(PyExc_TypeError, "edges must be a uform.Edges or a tuple (offsets, ids, weights)"),
                   false;
        PyObject *const weighed = parts == 3 ? PyTuple_GET_ITEM(value, 2) : Py_None;
        if (!offsets.take(PyTuple_GET_ITEM(value, 0), "offsets") || !ids.take(PyTuple_GET_ITEM(value, 1), "ids"))
            return false;
        if (offsets.count() != items + 1)
            return raise(uform_status_shape_mismatch_k, "relations.%s has %zu offsets for %zu items", set,
                         offsets.count(), items),
                   false;
        std::size_t const end = offsets.data()[items];
        if (end > ids.count())
            return raise(uform_status_invalid_argument_k, "relations.%s.offsets end at %zu, relations.%s.ids at %zu",
                         set, end, set, ids.count()),
                   false;
        if (!weights.take(weighed, "weights")) return false;
        if (given(weighed) && weights.count() < end)
            return raise(uform_status_shape_mismatch_k, "relations.%s has fewer weights than ids", set), false;
        out = {offsets.data(), ids.data(), weights.data()};
        return true;
    }
};

struct step_call_t : call_t {
    uform_trainer_step_t arguments {};
    tape_t contents, choices, targets;
    array_t<std::int32_t> modalities, sides;
    array_t<std::uint32_t> bags, groups;
    edges_t attract, repel, ignore;
    reference_t stats, limits;
    uform_trainer_step_stats_t done {};
    uform_rows_t embeddings {};
    uform_rows_tape_t token_vectors {};

    void enter(uform_completion_t completion) noexcept override {
        arguments.trainer = reinterpret_cast<trainer_object_t *>(held.get())->handle;
        arguments.executor = executor_handle, arguments.outcome = &outcome, arguments.completion = completion;
        arguments.arena = arena_handle();
        if (stats) arguments.stats = &done;
        uform_trainer_step(&arguments);
    }
    PyObject *result() noexcept override {
        write_stats(stats.get(), &done, sizeof(done));
        if (!arguments.embeddings) return reference_t::borrowed(Py_None).release();
        if (!arguments.token_vectors) return make_rows(*this, embeddings);
        reference_t const rows(make_rows(*this, embeddings));
        reference_t const tokens(make_rows_tape(*this, token_vectors, arguments.count));
        return rows && tokens ? PyTuple_Pack(2, rows.get(), tokens.get()) : nullptr;
    }
};

enum {
    modalities_k,
    contents_k,
    bags_k,
    groups_k,
    sides_k,
    choices_k,
    targets_k,
    relations_k,
    limits_k,
    arena_k,
    tokens_k,
    scalar_k,
    stats_k,
    words_k
};
char const *const words[] = {
    "modalities", "contents", "bags",  "temperature_groups", "sides",          "choices", "choice_targets",
    "relations",  "limits",   "arena", "token_vectors",      "outputs_scalar", "stats"};

bool take_items(step_call_t &call, PyObject *const *values) noexcept {
    uform_trainer_step_t &out = call.arguments;
    if (!call.contents.take(values[contents_k], "contents", uform_scalar_u8_k)) return false;
    std::size_t const count = out.count = call.contents.count();
    out.contents = call.contents.view();
    if (!call.modalities.take(values[modalities_k], "modalities", count) ||
        !call.bags.take(values[bags_k], "bags", count) ||
        !call.groups.take(values[groups_k], "temperature_groups", count) ||
        !call.sides.take(values[sides_k], "sides", count))
        return false;
    out.modalities = call.modalities.data(), out.bags = call.bags.data();
    out.temperature_groups = call.groups.data(), out.sides = call.sides.data();
    if (given(values[choices_k])) {
        if (!call.choices.take_as_many(values[choices_k], "choices", uform_scalar_u8_k, count)) return false;
        out.choices = call.choices.view();
    }
    if (given(values[targets_k])) {
        if (!call.targets.take_as_many(values[targets_k], "choice_targets", uform_scalar_f32_k, count)) return false;
        out.choice_targets = call.targets.view();
    }
    return true;
}

bool take_relations(step_call_t &call, PyObject *value) noexcept {
    if (!given(value)) return true;
    if (!PyTuple_Check(value) || PyTuple_GET_SIZE(value) != 3)
        return PyErr_SetString(PyExc_TypeError, "relations must be a uform.Relations"), false;
    uform_relations_view_t &out = call.arguments.relations;
    std::size_t const count = call.arguments.count;
    return call.attract.take(PyTuple_GET_ITEM(value, 0), "attract", count, out.attract) &&
           call.repel.take(PyTuple_GET_ITEM(value, 1), "repel", count, out.repel) &&
           call.ignore.take(PyTuple_GET_ITEM(value, 2), "ignore", count, out.ignore);
}

bool take_outputs(step_call_t &call, PyObject *const *values) noexcept {
    int const tokens = values[tokens_k] ? PyObject_IsTrue(values[tokens_k]) : 0;
    if (tokens < 0) return false;
    if (!given(values[arena_k])) {
        if (!tokens) return true;
        return raise(uform_status_invalid_argument_k, "token_vectors land in an arena, and none was given"), false;
    }
    if (!to_arena(values[arena_k], call.arena)) return false;
    call.arguments.embeddings = &call.embeddings;
    if (tokens) call.arguments.token_vectors = &call.token_vectors;
    return true;
}

bool take_step(step_call_t &call, receiver_t const &receiver, PyObject *const *values) noexcept {
    return call.receive(receiver) && take_items(call, values) && take_relations(call, values[relations_k]) &&
           to_record(record_limits_k, values[limits_k], "limits", call.limits, &call.arguments.limits) &&
           take_outputs(call, values) &&
           to_enum(enum_scalar_k, values[scalar_k], "outputs_scalar", call.arguments.outputs_scalar) &&
           to_stats(record_trainer_step_stats_k, values[stats_k], call.stats);
}

} // namespace

PyObject *step(PyObject *self, PyObject *const *given_, Py_ssize_t count, PyObject *names) noexcept {
    PyObject *values[words_k];
    if (!parse({"step", words, words_k, 2, 2}, given_, count, names, values)) return nullptr;
    receiver_t const receiver = trainer_receiver_of(self);
    auto *const call = new (std::nothrow) step_call_t;
    if (!call) return PyErr_NoMemory();
    if (!take_step(*call, receiver, values)) return delete call, nullptr;
    return run(call, receiver.completion);
}

} // namespace binding
