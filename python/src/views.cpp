/**
 *  @file views.cpp
 *  @brief `uform.ArenaBuffer`, `uform.RowsTape` and `uform.Encoded`: outputs where they landed, read without a copy.
 *
 *  A view remembers which call it is of. Its arena counts the buffers exported over it; while there are any, no call may
 *  rewind the arena, and once one has, the view refuses to be read.
 */
#include "buffers.hpp"
#include "enums.hpp"
#include "objects.hpp"

namespace binding {
namespace {

struct view_t {
    PyObject_HEAD PyObject *arena;
    std::uint64_t generation;
    uform_rows_t rows;
    std::size_t const *offsets; // [items + 1], of a tape
    std::size_t items;
    Py_ssize_t shape[2], strides[2]; // as exported
    Py_ssize_t item_bytes;
    int axes;
    char const *format;
};

PyTypeObject *buffer_type = nullptr, *tape_type = nullptr, *encoded_type = nullptr;
view_t *of(PyObject *object) noexcept { return reinterpret_cast<view_t *>(object); }
arena_object_t *arena_of(view_t const *self) noexcept { return reinterpret_cast<arena_object_t *>(self->arena); }
unsigned char nothing[1]; // where rows of no memory point

bool is_view(PyObject *object) noexcept { return Py_TYPE(object) == buffer_type || Py_TYPE(object) == tape_type; }

bool readable(view_t const *self) noexcept {
    if (arena_of(self)->generation == self->generation) return true;
    return raise(uform_status_invalid_argument_k, "the output is stale: a later call has named its arena"), false;
}
bool on_devices(view_t const *self) noexcept {
    PyObject *const executor = arena_of(self)->executor;
    return executor && reinterpret_cast<executor_object_t *>(executor)->on_devices;
}

/** How rows are exported: bfloat16, which the buffer protocol has no word for, as bytes. */
void lay_out(view_t *self, bool flat) noexcept {
    uform_rows_t const &rows = self->rows;
    switch (rows.scalar) {
    case uform_scalar_f32_k:
        self->format = "f";
        break;
    case uform_scalar_f16_k:
        self->format = "e";
        break;
    case uform_scalar_i8_k:
        self->format = "b";
        break;
    case uform_scalar_u64_k:
        self->format = "L";
        break;
    default:
        self->format = "B";
        break;
    }
    bool const raw = *self->format == 'B';
    std::size_t const bytes = raw ? 1 : uform_scalar_bytes(rows.scalar);
    self->item_bytes = Py_ssize_t(bytes);
    self->axes = flat ? 1 : 2;
    self->shape[0] = Py_ssize_t(rows.count), self->strides[0] = Py_ssize_t(rows.stride);
    self->shape[1] = Py_ssize_t(raw ? rows.columns * uform_scalar_bytes(rows.scalar) : rows.columns);
    self->strides[1] = Py_ssize_t(bytes);
    if (flat && raw) self->axes = 2; // a row's bytes are an axis
}

view_t *make_view(PyTypeObject *type, PyObject *arena, std::uint64_t generation, uform_rows_t const &rows,
                  bool flat) noexcept {
    view_t *const self = make<view_t>(type);
    if (!self) return nullptr;
    self->arena = reference_t::borrowed(arena).release();
    self->generation = generation, self->rows = rows;
    return lay_out(self, flat), self;
}

bool is_dense(view_t const *self) noexcept {
    Py_ssize_t const row = self->axes == 2 ? self->shape[1] * self->item_bytes : self->item_bytes;
    return self->shape[0] <= 1 || self->strides[0] == row;
}

int get_buffer(PyObject *object, Py_buffer *view, int flags) noexcept {
    view_t *const self = of(object);
    view->obj = nullptr;
    if (!readable(self)) return -1;
    if (on_devices(self)) return raise(uform_status_device_k, "the output is in device memory"), -1;
    bool const strided = (flags & PyBUF_STRIDES) == PyBUF_STRIDES;
    bool const needs_columns = (flags & PyBUF_F_CONTIGUOUS) == PyBUF_F_CONTIGUOUS && self->axes == 2;
    bool const needs_dense = !strided || (flags & PyBUF_C_CONTIGUOUS) == PyBUF_C_CONTIGUOUS ||
                             (flags & PyBUF_ANY_CONTIGUOUS) == PyBUF_ANY_CONTIGUOUS;
    char const *const refusal = flags & PyBUF_WRITABLE           ? "outputs are read-only"
                                : needs_columns                  ? "rows are not columns"
                                : needs_dense && !is_dense(self) ? "rows are strided"
                                                                 : nullptr;
    if (refusal) return PyErr_SetString(PyExc_BufferError, refusal), -1;
    view->buf = self->rows.data ? const_cast<void *>(self->rows.data) : nothing;
    view->itemsize = self->item_bytes;
    view->len = self->shape[0] * (self->axes == 2 ? self->shape[1] : 1) * self->item_bytes;
    view->readonly = 1;
    view->ndim = flags & PyBUF_ND ? self->axes : 1;
    view->format = flags & PyBUF_FORMAT ? const_cast<char *>(self->format) : nullptr;
    view->shape = flags & PyBUF_ND ? self->shape : nullptr;
    view->strides = strided ? self->strides : nullptr;
    view->suboffsets = nullptr, view->internal = nullptr;
    view->obj = reference_t::borrowed(object).release();
    ++arena_of(self)->exports;
    return 0;
}

void release_buffer(PyObject *object, Py_buffer *) noexcept { --arena_of(of(object))->exports; }

PyObject *shape(PyObject *object, void *) noexcept {
    view_t const *const self = of(object);
    return self->axes == 2 ? Py_BuildValue("(nn)", self->shape[0], self->shape[1])
                           : Py_BuildValue("(n)", self->shape[0]);
}
PyObject *scalar(PyObject *object, void *) noexcept { return from_enum(enum_scalar_k, of(object)->rows.scalar); }
PyObject *arena(PyObject *object, void *) noexcept { return reference_t::borrowed(of(object)->arena).release(); }

/** NumPy asks here after a buffer was refused, and forgets why: the refusal is raised again, not an array of objects. */
PyObject *array_interface(PyObject *object, void *) noexcept {
    if (!readable(of(object))) return nullptr;
    if (on_devices(of(object))) return raise(uform_status_device_k, "the output is in device memory");
    return PyErr_SetString(PyExc_AttributeError, "__array_interface__"), nullptr;
}

PyObject *cuda_array_interface(PyObject *object, void *) noexcept {
    view_t *const self = of(object);
    if (!on_devices(self)) return PyErr_SetString(PyExc_AttributeError, "__cuda_array_interface__"), nullptr;
    if (!readable(self)) return nullptr;
    char const kind = *self->format == 'f' || *self->format == 'e' ? 'f' : *self->format == 'b' ? 'i' : 'u';
    reference_t const type(PyUnicode_FromFormat("<%c%zd", kind, self->item_bytes)), extent(shape(object, nullptr));
    if (!type || !extent) return nullptr;
    auto const address = static_cast<unsigned long long>(reinterpret_cast<std::uintptr_t>(self->rows.data));
    return self->axes == 2
               ? Py_BuildValue("{sOsOs(KO)s(nn)si}", "shape", extent.get(), "typestr", type.get(), "data", address,
                               Py_True, "strides", self->strides[0], self->strides[1], "version", 3)
               : Py_BuildValue("{sOsOs(KO)s(n)si}", "shape", extent.get(), "typestr", type.get(), "data", address,
                               Py_True, "strides", self->strides[0], "version", 3);
}

PyObject *offsets(PyObject *object, void *) noexcept {
    view_t const *const self = of(object);
    uform_rows_t const marks {self->offsets, self->items + 1, 1, sizeof(std::size_t), uform_scalar_u64_k};
    return reinterpret_cast<PyObject *>(make_view(buffer_type, self->arena, self->generation, marks, true));
}

Py_ssize_t rows_length(PyObject *object) noexcept { return of(object)->shape[0]; }

PyObject *represent(PyObject *object) noexcept {
    view_t const *const self = of(object);
    bool const stale = arena_of(self)->generation != self->generation;
    reference_t const extent(shape(object, nullptr));
    return extent ? PyUnicode_FromFormat("<%s %R %s%s>", Py_TYPE(object)->tp_name, extent.get(),
                                         uform_scalar_name(self->rows.scalar), stale ? ", stale" : "")
                  : nullptr;
}

void deallocate(PyObject *object) noexcept {
    Py_XDECREF(of(object)->arena);
    forget(object);
}

#define UFORM_VIEW_GETTERS                                                                                             \
    {"shape", shape, nullptr, "Rows and columns as they are exported.", nullptr},                                      \
        {"scalar", scalar, nullptr, "The uform.Scalar the rows landed as.", nullptr},                                  \
        {"arena", arena, nullptr, "The uform.Arena that holds them.", nullptr},                                        \
        {"__array_interface__", array_interface, nullptr, nullptr, nullptr}, {                                         \
        "__cuda_array_interface__", cuda_array_interface, nullptr, nullptr, nullptr                                    \
    }
PyGetSetDef buffer_getters[] = {UFORM_VIEW_GETTERS, {}};
PyGetSetDef tape_getters[] = {
    UFORM_VIEW_GETTERS,
    {"offsets", offsets, nullptr, "uint64 [items + 1]: item i spans rows offsets[i] up to offsets[i + 1].", nullptr},
    {}};

PyType_Spec view_spec(char const *name, PyGetSetDef *getters, char const *doc) noexcept {
    static PyType_Slot slots[2][10];
    static int made = 0;
    PyType_Slot *const own = slots[made++];
    PyType_Slot const filled[10] = {{Py_tp_dealloc, reinterpret_cast<void *>(deallocate)},
                                    {Py_bf_getbuffer, reinterpret_cast<void *>(get_buffer)},
                                    {Py_bf_releasebuffer, reinterpret_cast<void *>(release_buffer)},
                                    {Py_sq_length, reinterpret_cast<void *>(rows_length)},
                                    {Py_tp_repr, reinterpret_cast<void *>(represent)},
                                    {Py_tp_getset, getters},
                                    {Py_tp_doc, const_cast<char *>(doc)},
                                    {0, nullptr}};
    std::memcpy(own, filled, sizeof(filled));
    return {name, sizeof(view_t), 0, Py_TPFLAGS_DEFAULT, own};
}

PyStructSequence_Field encoded_fields[] = {
    {"embeddings", "uform.ArenaBuffer (count, dimensions) of unit rows, or None where it was left out."},
    {"states", "uform.RowsTape (tokens, hidden) of normalized rows, or None where it was left out."},
    {"token_vectors", "uform.RowsTape (tokens, token_width) of unit rows, or None where it was left out."},
    {}};
PyStructSequence_Desc encoded_spec {"uform.Encoded", "What an encode verb answers, one surface each.", encoded_fields,
                                    3};

} // namespace

PyObject *make_rows(call_t const &call, uform_rows_t const &rows, bool flat) noexcept {
    return reinterpret_cast<PyObject *>(make_view(buffer_type, call.arena.get(), call.generation, rows, flat));
}

PyObject *make_rows_tape(call_t const &call, uform_rows_tape_t const &rows, std::size_t items, bool flat) noexcept {
    uform_rows_t const plain {rows.data, rows.count, rows.columns, rows.stride, rows.scalar};
    view_t *const self = make_view(tape_type, call.arena.get(), call.generation, plain, flat);
    if (self) self->offsets = rows.offsets, self->items = items;
    return reinterpret_cast<PyObject *>(self);
}

PyObject *make_encoded(call_t const &call, uform_rows_t const *embeddings, uform_rows_tape_t const *states,
                       uform_rows_tape_t const *token_vectors, std::size_t items) noexcept {
    auto const none = [] { return reference_t::borrowed(Py_None).release(); };
    reference_t made(PyStructSequence_New(encoded_type));
    PyObject *const surfaces[] = {embeddings ? make_rows(call, *embeddings) : none(),
                                  states ? make_rows_tape(call, *states, items) : none(),
                                  token_vectors ? make_rows_tape(call, *token_vectors, items) : none()};
    bool whole = bool(made);
    for (PyObject *surface : surfaces) whole = whole && surface;
    for (int index = 0; index < 3; ++index)
        if (whole)
            PyStructSequence_SetItem(made.get(), index, surfaces[index]);
        else
            Py_XDECREF(surfaces[index]);
    return whole ? made.release() : nullptr;
}

bool to_rows(PyObject *value, char const *name, buffer_t &buffer, uform_rows_t &out, PyObject *&arena) noexcept {
    if (!buffer.borrow_strided(value, name)) return false;
    if (is_view(value)) return out = of(value)->rows, arena = of(value)->arena, true;
    Py_buffer const &view = buffer.view();
    uform_scalar_t const scalar = scalar_of(buffer);
    bool const known = scalar == uform_scalar_f32_k || scalar == uform_scalar_f16_k || scalar == uform_scalar_i8_k;
    if (!known || view.ndim != 2)
        return PyErr_Format(PyExc_TypeError, "%s must be rows of an output, or 2-D float32, float16 or int8", name),
               false;
    Py_ssize_t const row = view.shape[1] * view.itemsize, stride = view.shape[0] > 1 ? view.strides[0] : row;
    if ((view.shape[1] > 1 && view.strides[1] != view.itemsize) || stride < row)
        return raise(uform_status_unsupported_layout_k, "%s must have dense rows, one behind the other", name), false;
    out = {view.buf, std::size_t(view.shape[0]), std::size_t(view.shape[1]), std::size_t(stride), scalar};
    return true;
}

PyObject *offsets_of(PyObject *value) noexcept {
    return Py_TYPE(value) == tape_type ? offsets(value, nullptr) : nullptr;
}

bool add_views(PyObject *module) noexcept {
    PyType_Spec rows =
        view_spec("uform.ArenaBuffer", buffer_getters, "An output in an arena, read through the buffer protocol.");
    PyType_Spec tape =
        view_spec("uform.RowsTape", tape_getters, "Rows in an arena grouped by item, with their offsets.");
    if (!(buffer_type = add_type(module, rows)) || !(tape_type = add_type(module, tape))) return false;
    if (!(encoded_type = PyStructSequence_NewType(&encoded_spec))) return false;
    Py_INCREF(encoded_type);
    return PyModule_AddObject(module, "Encoded", reinterpret_cast<PyObject *>(encoded_type)) == 0;
}

} // namespace binding
