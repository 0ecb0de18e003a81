/**
 *  @file ucx.cpp
 *  @brief The link over UCX: its library loaded by name, its statuses turned into failures and reasons.
 *
 *  Loaded when a mesh is first opened and never unloaded, since its threads outlive a worker. Linking it instead
 *  would put its signal handlers into every program; the ones it installs when loaded are taken back, and its log is
 *  silenced: a library neither installs handlers nor prints. UCX chooses between shared memory, TCP and RDMA by
 *  itself; its own variables (UCX_TLS, UCX_NET_DEVICES) narrow the choice. Statuses: `UCS_OK` is done,
 *  `UCS_INPROGRESS` and `UCS_ERR_BUSY` are waited on, all others become the text of `ucs_status_string`.
 */
#include <ucp/api/ucp.h>
#include <ucs/debug/log_def.h>

#include <new>

#include <dlfcn.h>
#include <poll.h>
#include <time.h>

#include <uform/utilities/buffer.hpp>
#include <uform/utilities/hold.hpp>

#include "mesh/link.hpp"

namespace uform {
namespace {

/** UCX's functions that are called here. Those of `ucs` come along with `ucp`, which needs them. */
// clang-format off
#define UFORM_EACH_UCX_FUNCTION(one)                                                                                   \
    one(ucp, config_read) one(ucp, config_modify) one(ucp, config_release) one(ucp, init_version) one(ucp, cleanup)    \
    one(ucp, worker_create) one(ucp, worker_destroy) one(ucp, worker_get_address) one(ucp, worker_release_address)     \
    one(ucp, worker_set_am_recv_handler) one(ucp, worker_progress) one(ucp, worker_get_efd) one(ucp, worker_arm)       \
    one(ucp, ep_create) one(ucp, ep_close_nbx) one(ucp, tag_send_nbx) one(ucp, tag_recv_nbx)                           \
    one(ucp, tag_recv_request_test) one(ucp, am_send_nbx) one(ucp, request_check_status) one(ucp, request_cancel)      \
    one(ucp, request_free) one(ucs, status_string) one(ucs, log_push_handler)
// clang-format on

struct library_t {
#define UFORM_FIELD(room, name) decltype(&::room##_##name) name = nullptr;
    UFORM_EACH_UCX_FUNCTION(UFORM_FIELD)
#undef UFORM_FIELD
    void (*debug_disable_signals)() = nullptr; // in no header of UCX that may be included
};

ucs_log_func_rc_t say_nothing(char const *, unsigned, char const *, ucs_log_level_t, ucs_log_component_config_t const *,
                              char const *, va_list) {
    return UCS_LOG_FUNC_RC_STOP;
}

template <typename function_>
bool find(void *library, char const *name, function_ &function) noexcept {
    function = reinterpret_cast<function_>(::dlsym(library, name));
    return function != nullptr;
}

bool find_all(void *library, library_t &f) noexcept {
#define UFORM_FIND(room, name) &&find(library, #room "_" #name, f.name)
    return find(library, "ucs_debug_disable_signals", f.debug_disable_signals) UFORM_EACH_UCX_FUNCTION(UFORM_FIND);
#undef UFORM_FIND
}

/** The library, the same one each time; null with the reason in `failure` where it cannot be had. */
library_t const *load(failure_t &failure) noexcept {
    static lock_t lock;
    static library_t library;
    static bool loaded = false;
    lock.lock();
    if (!loaded) {
        char const *const name = "libucp.so.0";
        void *const handle = ::dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
        if (!handle)
            failure = fail(uform_status_unsupported_k, "this machine joins no processes",
                           "UCX is not installed: %s comes with the package libucx0 (%s)", name, ::dlerror());
        else if (!find_all(handle, library))
            failure = fail(uform_status_unsupported_k, "this machine joins no processes",
                           "%s lacks a function of UCX %d.%d, which this build was made with", name, UCP_API_MAJOR,
                           UCP_API_MINOR);
        else
            library.debug_disable_signals(), library.log_push_handler(say_nothing), loaded = true;
    }
    bool const usable = loaded;
    lock.unlock();
    return usable ? &library : nullptr;
}

constexpr unsigned notice_id_k = 1;
constexpr ucp_tag_t every_bit_k = ~ucp_tag_t(0);
/** The sender's rank is in the tag's upper bits, so that a receive names its peer. */
constexpr ucp_tag_t tag_from(std::size_t process, std::uint64_t tag) noexcept { return ucp_tag_t(process) << 48 | tag; }

} // namespace

struct link_t::state_t {
    struct peer_t {
        ucp_ep_h endpoint;
        ucs_status_t status; // of the connection
        void *notifying;     // the last notice's request
        notice_t notice;     // what it sends
    };
    library_t const *f = nullptr;
    ucp_context_h context = nullptr;
    ucp_worker_h worker = nullptr;
    ucp_address_t *address = nullptr;
    std::size_t address_bytes = 0;
    int descriptor = -1;
    hear_t hear = nullptr;
    void *listener = nullptr;
    buffer_t<peer_t> peers; // [count]

    failure_t make_context() noexcept;
    failure_t make_worker() noexcept;
    /** Success as nothing, everything else as UCX words it. */
    failure_t wrap(char const *function, ucs_status_t status) const noexcept {
        if (status == UCS_OK) return {};
        status_t const kind = status == UCS_ERR_NO_MEMORY ? uform_status_out_of_memory_k : uform_status_io_k;
        return fail(kind, "the transport between processes failed", "%s: %s", function, f->status_string(status));
    }
};

failure_t link_t::state_t::make_context() noexcept {
    ucp_config_t *config = nullptr;
    if (failure_t const failure = wrap("ucp_config_read", f->config_read(nullptr, nullptr, &config))) return failure;
    // A killed peer in shared memory closes nothing: only UCX's own look at it tells, by default every 20 seconds.
    (void)f->config_modify(config, "KEEPALIVE_INTERVAL", "500ms");
    // And only transports that say they can tell are chosen; shared memory says so when it is asked to.
    (void)f->config_modify(config, "MM_ERROR_HANDLING", "y");
    ucp_params_t parameters {};
    parameters.field_mask = UCP_PARAM_FIELD_FEATURES;
    parameters.features = UCP_FEATURE_TAG | UCP_FEATURE_AM | UCP_FEATURE_WAKEUP;
    ucs_status_t const status = f->init_version(UCP_API_MAJOR, UCP_API_MINOR, &parameters, config, &context);
    f->config_release(config);
    return wrap("ucp_init", status);
}

failure_t link_t::state_t::make_worker() noexcept {
    ucp_worker_params_t parameters {};
    parameters.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE | UCP_WORKER_PARAM_FIELD_FLAGS;
    parameters.thread_mode = UCS_THREAD_MODE_SERIALIZED;    // calls run on whichever thread holds the mesh
    parameters.flags = UCP_WORKER_FLAG_IGNORE_REQUEST_LEAK; // a broken run leaves messages that nobody can finish
    if (failure_t const failure = wrap("ucp_worker_create", f->worker_create(context, &parameters, &worker)))
        return failure;
    if (failure_t const failure = wrap("ucp_worker_get_efd", f->worker_get_efd(worker, &descriptor))) return failure;
    ucp_am_handler_param_t handler {};
    handler.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG;
    handler.id = notice_id_k, handler.arg = this;
    handler.cb = [](void *self, void const *header, std::size_t bytes, void *, std::size_t,
                    ucp_am_recv_param_t const *) -> ucs_status_t {
        state_t &state = *static_cast<state_t *>(self);
        notice_t notice;
        if (bytes != sizeof(notice)) return UCS_OK;
        std::memcpy(&notice, header, sizeof(notice));
        notice.reason[sizeof(notice.reason) - 1] = 0;
        state.hear(state.listener, notice);
        return UCS_OK;
    };
    if (failure_t const failure =
            wrap("ucp_worker_set_am_recv_handler", f->worker_set_am_recv_handler(worker, &handler)))
        return failure;
    return wrap("ucp_worker_get_address", f->worker_get_address(worker, &address, &address_bytes));
}

failure_t link_t::open(hear_t hear, void *context) noexcept {
    close();
    failure_t failure;
    library_t const *const library = load(failure);
    if (!library) return failure;
    state_ = new (std::nothrow) state_t;
    if (!state_) return fail(uform_status_out_of_memory_k, "memory for the mesh is out");
    state_->f = library, state_->hear = hear, state_->listener = context;
    failure = state_->make_context();
    if (!failure) failure = state_->make_worker();
    if (failure) close();
    return failure;
}

std::span<std::byte const> link_t::address() const noexcept {
    return {reinterpret_cast<std::byte const *>(state_->address), state_->address_bytes};
}

failure_t link_t::reserve(std::size_t count) noexcept {
    if (state_->peers.resize(count)) return {};
    return fail(uform_status_out_of_memory_k, "memory for the mesh is out");
}

failure_t link_t::connect(std::size_t process, std::span<std::byte const> address) noexcept {
    state_t::peer_t &peer = state_->peers[process];
    ucp_ep_params_t parameters {};
    parameters.field_mask =
        UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE | UCP_EP_PARAM_FIELD_ERR_HANDLER;
    parameters.address = reinterpret_cast<ucp_address_t const *>(address.data());
    parameters.err_mode = UCP_ERR_HANDLING_MODE_PEER;
    parameters.err_handler.cb = [](void *peer, ucp_ep_h, ucs_status_t status) {
        static_cast<state_t::peer_t *>(peer)->status = status;
    };
    parameters.err_handler.arg = &peer;
    return state_->wrap("ucp_ep_create", state_->f->ep_create(state_->worker, &parameters, &peer.endpoint));
}

char const *link_t::lost(std::size_t process) const noexcept {
    ucs_status_t const status = state_->peers[process].status;
    return status == UCS_OK ? nullptr : state_->f->status_string(status);
}

link_t::message_t link_t::post(std::size_t self, transfer_t const &transfer) noexcept {
    if (transfer.bytes == 0) return {};
    ucp_request_param_t parameters {};
    parameters.op_attr_mask = UCP_OP_ATTR_FLAG_NO_IMM_CMPL;
    ucs_status_ptr_t const request =
        transfer.direction == direction_t::send_k
            ? state_->f->tag_send_nbx(state_->peers[transfer.peer].endpoint, transfer.data, transfer.bytes,
                                      tag_from(self, transfer.tag), &parameters)
            : state_->f->tag_recv_nbx(state_->worker, transfer.data, transfer.bytes,
                                      tag_from(transfer.peer, transfer.tag), every_bit_k, &parameters);
    if (UCS_PTR_IS_ERR(request)) return {nullptr, state_->f->status_string(UCS_PTR_STATUS(request))};
    return {request, nullptr};
}

void link_t::look(message_t &message, transfer_t const &transfer) noexcept {
    if (!message.request) return;
    ucp_tag_recv_info_t info {};
    info.length = transfer.bytes;
    ucs_status_t const status = transfer.direction == direction_t::send_k
                                    ? state_->f->request_check_status(message.request)
                                    : state_->f->tag_recv_request_test(message.request, &info);
    if (status == UCS_INPROGRESS) return;
    state_->f->request_free(message.request);
    message.request = nullptr;
    if (status != UCS_OK)
        message.reason = state_->f->status_string(status);
    else if (info.length != transfer.bytes)
        message.reason = "a message came with another size";
}

void link_t::cancel(message_t &message) noexcept {
    if (message.request) state_->f->request_cancel(state_->worker, message.request);
}

void link_t::notify(std::size_t process, notice_t const &notice) noexcept {
    state_t::peer_t &peer = state_->peers[process];
    if (!peer.endpoint || peer.status != UCS_OK) return;
    if (peer.notifying && state_->f->request_check_status(peer.notifying) == UCS_INPROGRESS) return;
    if (peer.notifying) state_->f->request_free(peer.notifying);
    peer.notice = notice;
    ucp_request_param_t parameters {};
    parameters.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS, parameters.flags = UCP_AM_SEND_FLAG_EAGER;
    ucs_status_ptr_t const request =
        state_->f->am_send_nbx(peer.endpoint, notice_id_k, &peer.notice, sizeof(peer.notice), nullptr, 0, &parameters);
    peer.notifying = UCS_PTR_IS_PTR(request) ? request : nullptr; // an error is the connection's, and heard of there
}

bool link_t::notices_under_way() noexcept {
    for (state_t::peer_t &peer : state_->peers)
        if (peer.notifying && state_->f->request_check_status(peer.notifying) == UCS_INPROGRESS) return true;
    return false;
}

bool link_t::progress() noexcept { return state_->f->worker_progress(state_->worker) != 0; }

void link_t::sleep(int milliseconds) noexcept {
    if (state_->f->worker_arm(state_->worker) != UCS_OK) return; // busy: something came in between
    pollfd waiting {state_->descriptor, POLLIN, 0};
    (void)::poll(&waiting, 1, milliseconds); // an interruption only wakes it early
}

void link_t::disconnect(int milliseconds) noexcept {
    ucp_request_param_t parameters {};
    parameters.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
    parameters.flags = milliseconds ? 0 : unsigned(UCP_EP_CLOSE_FLAG_FORCE);
    for (state_t::peer_t &peer : state_->peers) {
        if (!peer.endpoint) continue;
        if (peer.notifying) state_->f->request_free(std::exchange(peer.notifying, nullptr));
        ucs_status_ptr_t const closing = state_->f->ep_close_nbx(std::exchange(peer.endpoint, nullptr), &parameters);
        peer.notifying = UCS_PTR_IS_PTR(closing) ? closing : nullptr;
    }
    for (int waited = 0; notices_under_way() && waited <= milliseconds; ++waited) {
        while (progress()) {
        }
        sleep(1);
    }
    for (state_t::peer_t &peer : state_->peers)
        if (peer.notifying) state_->f->request_free(std::exchange(peer.notifying, nullptr));
}

void link_t::close() noexcept {
    if (!state_) return;
    if (state_->worker) disconnect(0);
    if (state_->address) state_->f->worker_release_address(state_->worker, state_->address);
    if (state_->worker) state_->f->worker_destroy(state_->worker);
    if (state_->context) state_->f->cleanup(state_->context);
    delete std::exchange(state_, nullptr);
}

} // namespace uform
