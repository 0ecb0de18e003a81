/**
 *  @file enums.cpp
 *  @brief Bodies of enums.hpp.
 */
#include "enums.hpp"
#include "errors.hpp"
#include "words.hpp"

#include <cctype>

namespace binding {
namespace {

struct row_t {
    char const *name;
    char const *(*spelled)(std::int32_t);
    std::int32_t first; // -1 where the C enum has the sentinel `unknown`
    char const *doc;
};

row_t const table[enum_count_k] = {
    {"Status", uform_status_name, -1, "How a call stands or how it ended; only DEFERRED is not final."},
    {"Scalar", uform_scalar_name, -1, "How an element is stored; DEFAULT lets the verb choose."},
    {"Completion", uform_completion_name, -1, "Whether a verb returns after the work or before it."},
    {"Mood", uform_mood_name, -1, "How an executor's threads pass the time between calls."},
    {"CPUClass", uform_cpu_class_name, -1, "Families of CPUs that share one set of kernels."},
    {"GPUClass", uform_gpu_class_name, -1, "Families of GPUs that share one set of kernels."},
    {"Modality", uform_modality_name, -1, "What the bytes of one item are."},
    {"MultimemTier", uform_multimem_tier_name, 0, "What in-network reduction the devices of a domain offer."},
    {"Objective", uform_objective_name, -1, "Which losses a trainer sums."},
    {"Negatives", uform_negatives_name, -1, "What becomes of pairs that no edge names."},
    {"PairLossForm", uform_pair_loss_form_name, -1, "The loss of one anchor's row of logits."},
    {"LateInteractionSide", uform_late_interaction_side_name, -1, "The part an item plays in late interaction."},
};

PyObject *classes[enum_count_k] = {}, *outputs_class = nullptr, *int_enum = nullptr;

/** "shape-mismatch" as SHAPE_MISMATCH. */
PyObject *member_name(char const *spelled) noexcept {
    char name[64];
    std::size_t length = 0;
    for (; spelled[length] && length + 1 < sizeof(name); ++length)
        name[length] = spelled[length] == '-' ? '_' : char(std::toupper(static_cast<unsigned char>(spelled[length])));
    return PyUnicode_FromStringAndSize(name, Py_ssize_t(length));
}

bool add_member(PyObject *members, char const *spelled, std::int32_t value) noexcept {
    reference_t const name(member_name(spelled)), number(PyLong_FromLong(value));
    return name && number && PyDict_SetItem(members, name.get(), number.get()) == 0;
}

PyObject *make_class(PyObject *module, PyObject *base, char const *name, PyObject *members, char const *doc) noexcept {
    reference_t const arguments(Py_BuildValue("(sO)", name, members));
    reference_t const words(Py_BuildValue("{ssss}", "module", "uform", "qualname", name));
    reference_t made(arguments && words ? PyObject_Call(base, arguments.get(), words.get()) : nullptr);
    reference_t const text(PyUnicode_FromString(doc));
    if (!made || !text || PyObject_SetAttrString(made.get(), "__doc__", text.get())) return nullptr;
    Py_INCREF(made.get());
    if (PyModule_AddObject(module, name, made.get()) == 0) return made.release();
    Py_DECREF(made.get());
    return nullptr;
}

PyObject *make_enum(PyObject *module, row_t const &row) noexcept {
    reference_t const members(PyDict_New());
    if (!members) return nullptr;
    for (std::int32_t value = row.first;; ++value) {
        char const *const spelled = row.spelled(value);
        if (value >= 0 && std::strcmp(spelled, "unknown") == 0) break;
        if (!add_member(members.get(), spelled, value)) return nullptr;
    }
    return make_class(module, int_enum, row.name, members.get(), row.doc);
}

} // namespace

bool add_enums(PyObject *module) noexcept {
    reference_t const enums(PyImport_ImportModule("enum"));
    if (!enums || !(int_enum = PyObject_GetAttrString(enums.get(), "IntEnum"))) return false;
    for (std::size_t which = 0; which < enum_count_k; ++which)
        if (!(classes[which] = make_enum(module, table[which]))) return false;
    reference_t const flag(PyObject_GetAttrString(enums.get(), "IntFlag"));
    reference_t const members(
        Py_BuildValue("{sIsIsI}", "EMBEDDINGS", embeddings_k, "STATES", states_k, "TOKEN_VECTORS", token_vectors_k));
    outputs_class = flag && members
                        ? make_class(module, flag.get(), "Outputs", members.get(), "Which surfaces a call keeps.")
                        : nullptr;
    return outputs_class != nullptr;
}

PyObject *from_enum(enum_t which, std::int32_t value) noexcept {
    PyObject *member = PyObject_CallFunction(classes[which], "i", int(value));
    if (member || !PyErr_ExceptionMatches(PyExc_ValueError)) return member;
    PyErr_Clear();
    return PyLong_FromLong(value);
}

bool to_enum(enum_t which, PyObject *value, char const *name, std::int32_t &out) noexcept {
    if (!given(value)) return true;
    bool const member = Py_TYPE(value) == reinterpret_cast<PyTypeObject *>(classes[which]);
    if (!member && (!PyLong_Check(value) || PyBool_Check(value) || PyObject_IsInstance(value, int_enum) == 1))
        return PyErr_Format(PyExc_TypeError, "%s must be a uform.%s, not %.100s", name, table[which].name,
                            Py_TYPE(value)->tp_name),
               false;
    long const got = PyLong_AsLong(value);
    if (got == -1 && PyErr_Occurred())
        PyErr_Clear(), out = INT32_MIN;
    else
        out = got < INT32_MIN || got > INT32_MAX ? INT32_MIN : std::int32_t(got);
    return true;
}

PyObject *from_mask(enum_t which, std::uint64_t mask) noexcept {
    reference_t const list(PyList_New(0));
    for (std::int32_t bit = 0; list && bit < 64; ++bit) {
        if (!(mask >> bit & 1)) continue;
        reference_t const member(from_enum(which, bit));
        if (!member || PyList_Append(list.get(), member.get())) return nullptr;
    }
    return list ? PyList_AsTuple(list.get()) : nullptr;
}

bool to_mask(enum_t which, PyObject *value, char const *name, std::uint64_t &out) noexcept {
    if (!given(value)) return true;
    reference_t const members(to_items(value, name));
    if (!members) return false;
    std::uint64_t mask = 0;
    for (Py_ssize_t index = 0; index < PyTuple_GET_SIZE(members.get()); ++index) {
        std::int32_t bit = -1;
        if (!to_enum(which, PyTuple_GET_ITEM(members.get(), index), name, bit)) return blame_item(std::size_t(index));
        if (bit < 0 || bit > 63)
            return raise_item(uform_status_invalid_argument_k, std::size_t(index), "%s holds no class", name), false;
        mask |= std::uint64_t(1) << bit;
    }
    return out = mask, true;
}

bool to_outputs(PyObject *value, unsigned &out) noexcept {
    if (!given(value)) return true;
    if (Py_TYPE(value) != reinterpret_cast<PyTypeObject *>(outputs_class))
        return PyErr_Format(PyExc_TypeError, "outputs must be uform.Outputs, not %.100s", Py_TYPE(value)->tp_name),
               false;
    out = unsigned(PyLong_AsLong(value)) & (embeddings_k | states_k | token_vectors_k);
    return true;
}

} // namespace binding
