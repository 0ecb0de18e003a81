/**
 *  @file train.cpp
 *  @brief The verbs of `uform/train.h`; options are `train_options.cpp`, a step's arguments `train_step.cpp`, the run
 *  itself `train/trainer`.
 */
#include <uform/train.h>

#include <new>

#include <uform/utilities/arguments.hpp>
#include <uform/utilities/call.hpp>
#include <uform/utilities/classes.hpp>
#include <uform/utilities/json.hpp>
#include <uform/utilities/names.hpp>

#include "mesh_handle.hpp"
#include "trainer_handle.hpp"

namespace uform {
namespace {

constexpr named_t objective_names_k[] = {{uform_objective_masked_k, "masked"},
                                         {uform_objective_contrastive_k, "contrastive"},
                                         {uform_objective_joint_k, "joint"}};
constexpr named_t negatives_names_k[] = {{uform_negatives_ambient_k, "ambient"}, {uform_negatives_named_k, "named"}};
constexpr named_t form_names_k[] = {{uform_pair_loss_form_derived_k, "derived"},
                                    {uform_pair_loss_form_balanced_k, "balanced"},
                                    {uform_pair_loss_form_ranked_k, "ranked"},
                                    {uform_pair_loss_form_sigmoid_k, "sigmoid"},
                                    {uform_pair_loss_form_softmax_k, "softmax"}};
constexpr named_t side_names_k[] = {{uform_late_interaction_side_none_k, "none"},
                                    {uform_late_interaction_side_query_k, "query"},
                                    {uform_late_interaction_side_document_k, "document"},
                                    {uform_late_interaction_side_query_and_document_k, "query-and-document"}};
constexpr named_t tier_names_k[] = {{uform_multimem_tier_none_k, "none"},
                                    {uform_multimem_tier_peer_k, "peer"},
                                    {uform_multimem_tier_multicast_k, "multicast"}};

/** Arguments of several processes' calls are refused by the work, which tells the others. */
bool has_peers(uform_mesh_t mesh) noexcept { return mesh && mesh->mesh.count() > 1; }

failure_t check_mesh(uform_trainer_init_ram_t const &call) noexcept {
    if (!call.mesh) return {};
    if (call.mesh->process != this_process())
        return unsupported("mesh was made before this process was forked; make one here");
    if (call.mesh->executor != call.executor) return refuse("executor is not the one the mesh was made for");
    return {};
}

failure_t check_init(uform_trainer_init_ram_t const &call) noexcept {
    if (failure_t const failure = check_mesh(call)) return failure;
    trainer_options_t options;
    return has_peers(call.mesh) ? failure_t {} : resolve(call, options);
}

failure_t start(uform_trainer_init_ram_t const &call, executor_t &executor, trainer_t &trainer) noexcept {
    trainer_options_t options;
    uform_cpu_class_t cpu_class;
    if (failure_t const failure = resolve(call, options)) return failure;
    if (failure_t const failure = resolve_class(executor.cpu_class(), has_kernels, cpu_class)) return failure;
    failure_t failure = trainer.start(options, cpu_class, executor);
    if (!failure && call.resume.length) failure = trainer.resume(text_of(call.resume), call.progress);
    if (!failure && call.initial.length) failure = trainer.warm_start(text_of(call.initial), call.progress);
    return failure;
}

/** Joins the trainers of all processes, or fails in all where one could not be started. */
failure_t meet(mesh_t &mesh, uform_trainer_t made, failure_t const &started) noexcept {
    turn_t const turn(mesh.lock());
    statement_t statement;
    statement.moment = moment_t::start_k;
    if (failure_t const failure = mesh.agree(statement, started)) return failure;
    return made->trainer.meet(mesh);
}

failure_t init(uform_trainer_init_ram_t const &call, executor_t &executor) noexcept {
    uform_trainer_t const made = new (std::nothrow) uform_trainer_handle_t;
    failure_t failure = made ? start(call, executor, made->trainer)
                             : fail(uform_status_out_of_memory_k, "memory for the trainer is out");
    if (call.mesh) failure = meet(call.mesh->mesh, made, failure);
    if (failure) {
        delete made;
        return failure;
    }
    made->executor = call.executor, *call.trainer = made;
    return failure;
}

failure_t check_save(uform_trainer_save_t const &call) noexcept {
    if (call.executor != call.trainer->executor) return refuse("executor is not the one the trainer was made on");
    return check_path<"path">(call.path);
}
failure_t save(uform_trainer_save_t const &call, executor_t &) noexcept {
    if (call.trainer->trainer.world().index() > 0) return {}; // its weights are those that process zero writes
    return call.trainer->trainer.save(text_of(call.path), call.optimizer, call.progress);
}

failure_t check_job(uform_bytes_view_t job) noexcept {
    if (failure_t const failure = check_bytes<"options.job">(job)) return failure;
    std::string_view const name = text_of(job);
    if (name.size() > rendezvous_t::job_limit_k) return refuse("options.job must not exceed 128 bytes");
    if (!is_utf8(name)) return refuse("options.job must be UTF-8");
    for (char const byte : name)
        if (std::uint8_t(byte) < ' ' || byte == 0x7f) return refuse("options.job must not hold control characters");
    return {};
}

failure_t check_bootstrap(uform_mesh_bootstrap_t const &call) noexcept {
    uform_mesh_options_t const &options = call.options;
    std::size_t const count = std::max<std::size_t>(options.host_domain_count, 1);
    if (count > transport_t::processes_limit_k) return refuse("options.host_domain_count must not exceed 4096");
    if (options.host_domain_index >= count)
        return refuse("options.host_domain_index must be below options.host_domain_count");
    presence_t const presence = count > 1 ? presence_t::required_k : presence_t::optional_k;
    if (failure_t const failure = check_path<"options.directory">(options.directory, presence)) return failure;
    return check_job(options.job);
}

failure_t bootstrap(uform_mesh_bootstrap_t const &call, executor_t &executor) noexcept {
    mesh_options_t options;
    uform_cpu_class_t cpu_class;
    if (failure_t const failure = resolve_class(executor.cpu_class(), has_kernels, cpu_class)) return failure;
    options.index = call.options.host_domain_index;
    options.count = std::max<std::size_t>(call.options.host_domain_count, 1);
    options.multicast_extent = call.options.multicast_extent;
    options.directory = text_of(call.options.directory), options.job = text_of(call.options.job);
    // A deadline beyond a year would overflow the clock's arithmetic.
    std::size_t const asked = call.options.deadline_milliseconds;
    options.deadline_milliseconds = asked ? std::min<std::size_t>(asked, std::size_t(31536000000)) : 60000;
    options.progress = call.options.progress, options.cpu_class = uform_cpu_class_name(cpu_class);
    uform_mesh_t const made = new (std::nothrow) uform_mesh_handle_t;
    if (!made) return fail(uform_status_out_of_memory_k, "memory for the mesh is out");
    made->executor = call.executor;
    failure_t const failure = made->mesh.join(options);
    if (failure)
        delete made;
    else
        *call.mesh = made;
    return failure;
}

failure_t describe(uform_mesh_describe_t const &call) noexcept {
    if (!call.mesh) return refuse("mesh must not be NULL");
    if (!call.description) return refuse("description must not be NULL");
    mesh_t const &mesh = call.mesh->mesh;
    *call.description = {mesh.index(), mesh.count(), mesh.count(), uform_multimem_tier_none_k,
                         uform_gpu_class_unknown_k};
    return {};
}

} // namespace
} // namespace uform

extern "C" {

char const *uform_objective_name(uform_objective_t x) { return uform::name_in(uform::objective_names_k, x); }
uform_objective_t uform_objective_from_name(uform_bytes_view_t name) {
    return uform::value_in(uform::objective_names_k, name);
}
char const *uform_negatives_name(uform_negatives_t x) { return uform::name_in(uform::negatives_names_k, x); }
uform_negatives_t uform_negatives_from_name(uform_bytes_view_t name) {
    return uform::value_in(uform::negatives_names_k, name);
}
char const *uform_pair_loss_form_name(uform_pair_loss_form_t x) { return uform::name_in(uform::form_names_k, x); }
uform_pair_loss_form_t uform_pair_loss_form_from_name(uform_bytes_view_t name) {
    return uform::value_in(uform::form_names_k, name);
}
char const *uform_late_interaction_side_name(uform_late_interaction_side_t x) {
    return uform::name_in(uform::side_names_k, x);
}
uform_late_interaction_side_t uform_late_interaction_side_from_name(uform_bytes_view_t name) {
    return uform::value_in(uform::side_names_k, name);
}
char const *uform_multimem_tier_name(uform_multimem_tier_t x) { return uform::name_in(uform::tier_names_k, x); }

void uform_mesh_bootstrap(uform_mesh_bootstrap_t *arguments) {
    uform::run_verb<uform::check_bootstrap, uform::bootstrap>(arguments);
}
void uform_mesh_describe(uform_mesh_describe_t *arguments) { uform::run_at_once<uform::describe>(arguments); }
void uform_mesh_free(uform_mesh_t mesh) {
    if (mesh && mesh->process == uform::this_process()) delete mesh; // else its connections are the parent's
}

void uform_trainer_init_vram(uform_trainer_init_vram_t *arguments) {
    uform::refuse_verb(arguments, "this build drives no GPU");
}
void uform_trainer_init_ram(uform_trainer_init_ram_t *arguments) {
    uform::run_verb<uform::check_init, uform::init>(arguments);
}
void uform_trainer_step(uform_trainer_step_t *arguments) { uform::run_verb<uform::check_step, uform::step>(arguments); }
void uform_trainer_save(uform_trainer_save_t *arguments) { uform::run_verb<uform::check_save, uform::save>(arguments); }
void uform_trainer_free(uform_trainer_t trainer) {
    if (!trainer) return;
    trainer->hold.wait_free();
    if (!trainer->hold.torn_by_fork()) delete trainer; // else it may be half moved
}

} // extern "C"
