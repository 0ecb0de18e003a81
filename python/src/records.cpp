/**
 *  @file records.cpp
 *  @brief Bodies of records.hpp: one constructor, one getter, one repr and one comparison for every table.
 */
#include "records.hpp"
#include "errors.hpp"
#include "train_tables.hpp"
#include "words.hpp"

namespace binding {
namespace {

struct instance_t {
    PyObject_HEAD PyObject *kept; // a list of the objects that the struct's pointers point into, or NULL
    alignas(8) unsigned char bytes[];
};

PyTypeObject *types[record_count_k] = {};
char const **parameter_names[record_count_k] = {};

record_t which_of(PyTypeObject *type) noexcept {
    for (int which = 0; which < record_count_k; ++which)
        if (types[which] == type) return record_t(which);
    return record_count_k;
}

template <typename value_>
value_ &at(instance_t *self, field_t const &field) noexcept {
    return *reinterpret_cast<value_ *>(self->bytes + field.offset);
}

bool keep_alive(instance_t *self, reference_t const &object) noexcept {
    if (!object) return true;
    if (!self->kept && !(self->kept = PyList_New(0))) return false;
    return PyList_Append(self->kept, object.get()) == 0;
}

/** Numbers as the bytes of a bytes object, its data aligned as any allocation's is. */
bool set_sizes(instance_t *self, field_t const &field, PyObject *value) noexcept {
    reference_t const items(to_items(value, field.name));
    if (!items) return false;
    Py_ssize_t const count = PyTuple_GET_SIZE(items.get());
    reference_t const storage(
        PyByteArray_FromStringAndSize(nullptr, (count ? count : 1) * Py_ssize_t(sizeof(std::size_t))));
    if (!storage) return false;
    auto *const sizes = reinterpret_cast<std::size_t *>(PyByteArray_AS_STRING(storage.get()));
    for (Py_ssize_t index = 0; index < count; ++index)
        if (!to_size(PyTuple_GET_ITEM(items.get(), index), field.name, sizes[index] = 0)) return false;
    at<std::size_t const *>(self, field) = sizes;
    (&at<std::size_t>(self, field))[1] = std::size_t(count);
    return keep_alive(self, storage);
}

/** Characters within the struct, room for their NUL left. */
bool set_text(instance_t *self, field_t const &field, PyObject *value) noexcept {
    reference_t kept;
    uform_bytes_view_t text {};
    if (!to_bytes(value, field.name, kept, text)) return false;
    if (text.length >= std::size_t(field.detail))
        return raise(uform_status_invalid_argument_k, "%s has more than %d bytes", field.name, field.detail - 1), false;
    return text.length == 0 || std::memcpy(&at<char>(self, field), text.data, text.length), true;
}

bool set_field(instance_t *self, field_t const &field, PyObject *value) noexcept {
    if (!given(value)) return true;
    reference_t kept;
    switch (field.kind) {
    case size_k:
        return to_size(value, field.name, at<std::size_t>(self, field));
    case u64_k:
        return to_u64(value, field.name, at<std::uint64_t>(self, field));
    case mask_k:
        return to_mask(enum_t(field.detail), value, field.name, at<std::uint64_t>(self, field));
    case f32_k:
        return to_f32(value, field.name, at<float>(self, field));
    case enum_k:
        return to_enum(enum_t(field.detail), value, field.name, at<std::int32_t>(self, field));
    case sizes_k:
        return set_sizes(self, field, value);
    case path_k:
        return to_path(value, kept, at<uform_bytes_view_t>(self, field)) && keep_alive(self, kept);
    case name_k:
        return to_bytes(value, field.name, kept, at<uform_bytes_view_t>(self, field)) && keep_alive(self, kept);
    case record_k:
        return to_record(record_t(field.detail), value, field.name, kept, self->bytes + field.offset) &&
               keep_alive(self, kept);
    case text_k:
        return set_text(self, field, value);
    }
    return true;
}

PyObject *get_sizes(instance_t *self, field_t const &field) noexcept {
    auto const *const sizes = at<std::size_t const *>(self, field);
    auto const count = Py_ssize_t((&at<std::size_t>(self, field))[1]);
    PyObject *const tuple = PyTuple_New(count);
    for (Py_ssize_t index = 0; tuple && index < count; ++index)
        PyTuple_SET_ITEM(tuple, index, PyLong_FromSize_t(sizes[index]));
    return tuple;
}

PyObject *get(PyObject *object, void *closure) noexcept {
    auto *const self = reinterpret_cast<instance_t *>(object);
    field_t const &field = *static_cast<field_t const *>(closure);
    switch (field.kind) {
    case size_k:
        return PyLong_FromSize_t(at<std::size_t>(self, field));
    case u64_k:
        return PyLong_FromUnsignedLongLong(at<std::uint64_t>(self, field));
    case f32_k:
        return PyFloat_FromDouble(double(at<float>(self, field)));
    case enum_k:
        return from_enum(enum_t(field.detail), at<std::int32_t>(self, field));
    case mask_k:
        return from_mask(enum_t(field.detail), at<std::uint64_t>(self, field));
    case sizes_k:
        return get_sizes(self, field);
    case record_k:
        return from_record(record_t(field.detail), self->bytes + field.offset);
    case text_k: {
        char const *const text = &at<char>(self, field);
        return PyUnicode_DecodeUTF8(text, Py_ssize_t(std::strlen(text)), "replace");
    }
    case path_k:
    case name_k:
        break;
    }
    uform_bytes_view_t const view = at<uform_bytes_view_t>(self, field);
    char const *const data = view.data ? static_cast<char const *>(view.data) : "";
    return field.kind == path_k ? PyUnicode_DecodeFSDefaultAndSize(data, Py_ssize_t(view.length))
                                : PyUnicode_DecodeUTF8(data, Py_ssize_t(view.length), "replace");
}

instance_t *make_empty(record_t which) noexcept {
    instance_t *const self = make<instance_t>(types[which]); // zeroed
    return self;
}

PyObject *construct(PyTypeObject *type, PyObject *arguments, PyObject *keywords) noexcept {
    record_t const which = which_of(type);
    record_table_t const &table = record_tables[which];
    PyObject *values[24];
    static_assert(sizeof(trainer_step_stats_fields) / sizeof(field_t) <= 24);
    signature_t const signature {table.name, parameter_names[which], table.count, table.count, 0};
    if (!parse(signature, arguments, keywords, values)) return nullptr;
    reference_t made(reinterpret_cast<PyObject *>(make_empty(which)));
    auto *const self = reinterpret_cast<instance_t *>(made.get());
    for (std::size_t index = 0; self && index < table.count; ++index)
        if (!set_field(self, table.fields[index], values[index])) return nullptr;
    return made.release();
}

void deallocate(PyObject *object) noexcept {
    Py_XDECREF(reinterpret_cast<instance_t *>(object)->kept);
    forget(object);
}

/** All fields as a tuple, in order: what makes an equal record. */
PyObject *fields_of(PyObject *object) noexcept {
    record_table_t const &table = record_tables[which_of(Py_TYPE(object))];
    reference_t fields(PyTuple_New(Py_ssize_t(table.count)));
    for (std::size_t index = 0; fields && index < table.count; ++index) {
        PyObject *const value = get(object, const_cast<field_t *>(&table.fields[index]));
        if (!value) return nullptr;
        PyTuple_SET_ITEM(fields.get(), Py_ssize_t(index), value);
    }
    return fields.release();
}

PyObject *compare(PyObject *object, PyObject *other, int operation) noexcept {
    if (Py_TYPE(object) != Py_TYPE(other) || (operation != Py_EQ && operation != Py_NE)) Py_RETURN_NOTIMPLEMENTED;
    reference_t const fields(fields_of(object)), others(fields ? fields_of(other) : nullptr);
    return others ? PyObject_RichCompare(fields.get(), others.get(), operation) : nullptr;
}

Py_hash_t hash(PyObject *object) noexcept {
    reference_t const fields(fields_of(object));
    return fields ? PyObject_Hash(fields.get()) : -1;
}

/** For pickle and copy: the type, and its arguments. */
PyObject *reduce(PyObject *object, PyObject *) noexcept {
    reference_t const fields(fields_of(object));
    return fields ? PyTuple_Pack(2, reinterpret_cast<PyObject *>(Py_TYPE(object)), fields.get()) : nullptr;
}

PyMethodDef methods[] = {{"__reduce__", reduce, METH_NOARGS, nullptr}, {}};

/** Records that calls overwrite are no keys. */
bool is_overwritten(std::size_t which) noexcept {
    return which == record_trainer_step_stats_k ||
           (which >= record_text_encode_stats_k && which <= record_text_choose_stats_k);
}

PyObject *represent(PyObject *object) noexcept {
    record_table_t const &table = record_tables[which_of(Py_TYPE(object))];
    reference_t const parts(PyList_New(0));
    for (std::size_t index = 0; parts && index < table.count; ++index) {
        reference_t const value(get(object, const_cast<field_t *>(&table.fields[index])));
        reference_t const part(value ? PyUnicode_FromFormat("%s=%R", table.fields[index].name, value.get()) : nullptr);
        if (!part || PyList_Append(parts.get(), part.get())) return nullptr;
    }
    reference_t const comma(PyUnicode_FromString(", "));
    reference_t const inside(parts && comma ? PyUnicode_Join(comma.get(), parts.get()) : nullptr);
    return inside ? PyUnicode_FromFormat("%s(%U)", table.name, inside.get()) : nullptr;
}

PyTypeObject *add_record(PyObject *module, std::size_t which) noexcept {
    record_table_t const &table = record_tables[which];
    auto *const getters = static_cast<PyGetSetDef *>(PyMem_Calloc(table.count + 1, sizeof(PyGetSetDef)));
    auto *const names = static_cast<char const **>(PyMem_Calloc(table.count, sizeof(char const *)));
    if (!getters || !names) return PyErr_NoMemory(), nullptr; // both live as long as the process
    for (std::size_t index = 0; index < table.count; ++index) {
        field_t const &field = table.fields[index];
        names[index] = field.name;
        getters[index] = {field.name, get, nullptr, field.doc, const_cast<field_t *>(&field)};
    }
    parameter_names[which] = names;
    hashfunc const hashed = is_overwritten(which) ? PyObject_HashNotImplemented : hash;
    PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void *>(construct)},
                           {Py_tp_dealloc, reinterpret_cast<void *>(deallocate)},
                           {Py_tp_repr, reinterpret_cast<void *>(represent)},
                           {Py_tp_richcompare, reinterpret_cast<void *>(compare)},
                           {Py_tp_hash, reinterpret_cast<void *>(hashed)},
                           {Py_tp_methods, methods},
                           {Py_tp_getset, getters},
                           {Py_tp_doc, const_cast<char *>(table.doc)},
                           {0, nullptr}};
    PyType_Spec spec {table.name, int(offsetof(instance_t, bytes) + table.bytes), 0, Py_TPFLAGS_DEFAULT, slots};
    return add_type(module, spec);
}

} // namespace

bool add_records(PyObject *module) noexcept {
    for (std::size_t which = 0; which < record_count_k; ++which)
        if (!(types[which] = add_record(module, which))) return false;
    return true;
}

PyObject *from_record(record_t which, void const *value) noexcept {
    instance_t *const self = make_empty(which);
    if (self) std::memcpy(self->bytes, value, record_tables[which].bytes);
    return reinterpret_cast<PyObject *>(self);
}

bool to_record(record_t which, PyObject *value, char const *name, reference_t &keep, void *out) noexcept {
    if (!given(value)) return true;
    reference_t record;
    if (Py_TYPE(value) == types[which])
        record = reference_t::borrowed(value);
    else if (PyTuple_Check(value))
        record = reference_t(construct(types[which], value, nullptr));
    else
        PyErr_Format(PyExc_TypeError, "%s must be a %s or a tuple of its fields, not %.100s", name,
                     record_tables[which].name, Py_TYPE(value)->tp_name);
    if (!record) return false;
    std::memcpy(out, reinterpret_cast<instance_t *>(record.get())->bytes, record_tables[which].bytes);
    return keep = std::move(record), true;
}

bool to_stats(record_t which, PyObject *value, reference_t &keep) noexcept {
    if (!given(value)) return true;
    if (Py_TYPE(value) != types[which])
        return PyErr_Format(PyExc_TypeError, "stats must be a %s, not %.100s", record_tables[which].name,
                            Py_TYPE(value)->tp_name),
               false;
    return keep = reference_t::borrowed(value), true;
}

void write_stats(PyObject *record, void const *value, std::size_t bytes) noexcept {
    if (record) std::memcpy(reinterpret_cast<instance_t *>(record)->bytes, value, bytes);
}

} // namespace binding
