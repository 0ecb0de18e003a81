/**
 *  @file load.cpp
 *  @brief The load verbs, as static constructors of `uform.Model`. They block: a model is used once it is there.
 */
#include "buffers.hpp"
#include "enums.hpp"
#include "verbs.hpp"

namespace binding {
namespace {

template <typename arguments_, void (*verb_)(arguments_ *)>
struct load_call_t : call_t {
    arguments_ arguments {};
    uform_model_t model = nullptr;
    reference_t path;
    buffer_t bytes;
    array_t<std::size_t> places; // memory domains or devices

    ~load_call_t() override { uform_model_free(model); }
    void enter(uform_completion_t completion) noexcept override {
        arguments.model = &model, arguments.executor = executor_handle, arguments.outcome = &outcome;
        arguments.completion = completion, arguments.progress = progress();
        verb_(&arguments);
    }
    PyObject *result() noexcept override {
        auto *const self = make<model_object_t>(model_type);
        if (self) self->handle = std::exchange(model, nullptr);
        return reinterpret_cast<PyObject *>(self);
    }
};

template <typename call_>
bool take_source(call_ &call, PyObject *value) noexcept {
    if constexpr (requires { call.arguments.path; })
        return to_path(value, call.path, call.arguments.path);
    else {
        if (!call.bytes.borrow(value, "buffer")) return false;
        return call.arguments.buffer = {call.bytes.data(), std::size_t(call.bytes.view().len)}, true;
    }
}

template <typename call_>
bool take_class(call_ &call, PyObject *value) noexcept {
    if constexpr (requires { call.arguments.cpu_class; })
        return to_enum(enum_cpu_class_k, value, "cpu_class", call.arguments.cpu_class);
    else
        return to_enum(enum_gpu_class_k, value, "gpu_class", call.arguments.gpu_class);
}

template <typename call_>
bool take_places(call_ &call, PyObject *value) noexcept {
    if constexpr (requires { call.arguments.memory_domains; }) {
        if (!call.places.take(value, "memory_domains")) return false;
        call.arguments.memory_domains = call.places.data(), call.arguments.memory_domains_count = call.places.count();
    } else {
        if (!call.places.take(value, "devices")) return false;
        call.arguments.devices = call.places.data(), call.arguments.devices_count = call.places.count();
    }
    return true;
}

template <typename call_>
PyObject *load(signature_t const &signature, PyObject *const *given_, Py_ssize_t count, PyObject *names) noexcept {
    PyObject *values[6];
    if (!parse(signature, given_, count, names, values)) return nullptr;
    receiver_t receiver;
    if (!to_executor(values[2], receiver.executor)) return nullptr;
    auto *const call = new (std::nothrow) call_;
    if (!call) return PyErr_NoMemory();
    if (!call->receive(receiver) || !take_source(*call, values[0]) ||
        !to_enum(enum_scalar_k, values[1], "quantization", call->arguments.quantization) ||
        !take_class(*call, values[3]) || !take_places(*call, values[4]) || !call->take_handler(values[5]))
        return delete call, nullptr;
    return run(call, uform_completion_blocking_k);
}

} // namespace

PyObject *load_ram(PyObject *, PyObject *const *given_, Py_ssize_t count, PyObject *names) noexcept {
    static char const *const words[] = {"path", "quantization", "executor", "cpu_class", "memory_domains", "progress"};
    return load<load_call_t<uform_model_load_ram_t, uform_model_load_ram>>({"load_ram", words, 6, 1, 1}, given_, count,
                                                                           names);
}
PyObject *load_ram_buffer(PyObject *, PyObject *const *given_, Py_ssize_t count, PyObject *names) noexcept {
    static char const *const words[] = {"buffer",    "quantization",   "executor",
                                        "cpu_class", "memory_domains", "progress"};
    using call_t_ = load_call_t<uform_model_load_ram_buffer_t, uform_model_load_ram_buffer>;
    return load<call_t_>({"load_ram_buffer", words, 6, 1, 1}, given_, count, names);
}
PyObject *load_vram(PyObject *, PyObject *const *given_, Py_ssize_t count, PyObject *names) noexcept {
    static char const *const words[] = {"path", "quantization", "executor", "gpu_class", "devices", "progress"};
    return load<load_call_t<uform_model_load_vram_t, uform_model_load_vram>>({"load_vram", words, 6, 1, 1}, given_,
                                                                             count, names);
}
PyObject *load_vram_buffer(PyObject *, PyObject *const *given_, Py_ssize_t count, PyObject *names) noexcept {
    static char const *const words[] = {"buffer", "quantization", "executor", "gpu_class", "devices", "progress"};
    using call_t_ = load_call_t<uform_model_load_vram_buffer_t, uform_model_load_vram_buffer>;
    return load<call_t_>({"load_vram_buffer", words, 6, 1, 1}, given_, count, names);
}

} // namespace binding
