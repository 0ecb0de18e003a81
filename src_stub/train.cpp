/**
 *  @file train.cpp
 *  @brief The verbs of `uform/train.h`.
 */
#include <uform/train.h>

#include "arguments.hpp"
#include "call.hpp"
#include "names.hpp"
#include "trainer.hpp"

namespace uform_stub {
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

void check_init(uform_trainer_init_ram_t const &call) {
    if (call.mesh && call.mesh->executor != call.executor) refuse("executor is not the one the mesh was made for");
    resolve(call);
}
void init(uform_trainer_init_ram_t const &call) {
    auto trainer = std::make_unique<uform_trainer_handle_t>();
    trainer->start(call);
    if (call.resume.length) trainer->resume(text_of(call.resume), call.progress);
    if (call.initial.length) trainer->warm_start(text_of(call.initial), call.progress);
    *call.trainer = trainer.release();
}

void check_save(uform_trainer_save_t const &call) {
    if (call.executor != call.trainer->executor) refuse("executor is not the one the trainer was made on");
    check_path(UFORM_STUB_FIELD("path"), call.path, true);
}
void save(uform_trainer_save_t const &call) { call.trainer->save(text_of(call.path), call.progress); }

void check_bootstrap(uform_mesh_bootstrap_t const &call) {
    uform_mesh_options_t const &options = call.options;
    std::size_t const count = std::max<std::size_t>(options.host_domain_count, 1);
    if (count > 4096) refuse("options.host_domain_count must not exceed 4096");
    if (options.host_domain_index >= count)
        refuse("options.host_domain_index must be below options.host_domain_count");
    check_path(UFORM_STUB_FIELD("options.directory"), options.directory, count > 1);
    check_bytes(UFORM_STUB_FIELD("options.job"), options.job);
    std::string_view const job = text_of(options.job);
    if (job.size() > 128) refuse("options.job must not exceed 128 bytes");
    if (!is_utf8(job)) refuse("options.job must be UTF-8");
    for (char const byte : job)
        if (static_cast<unsigned char>(byte) < ' ' || byte == 0x7f)
            refuse("options.job must not hold control characters");
}
void bootstrap(uform_mesh_bootstrap_t const &call) {
    if (call.options.host_domain_count > 1) unsupported("this build joins no processes");
    advance(call.options.progress, 1, 1);
    *call.mesh = new uform_mesh_handle_t {call.executor};
}
void describe(uform_mesh_describe_t const &call) {
    if (!call.mesh) refuse("mesh must not be NULL");
    if (!call.description) refuse("description must not be NULL");
    *call.description = {0, 1, 1, uform_multimem_tier_none_k, uform_gpu_class_unknown_k};
}

} // namespace
} // namespace uform_stub

using namespace uform_stub;

extern "C" {

char const *uform_objective_name(uform_objective_t x) { return name_in(objective_names_k, x); }
uform_objective_t uform_objective_from_name(uform_bytes_view_t name) { return value_in(objective_names_k, name); }
char const *uform_negatives_name(uform_negatives_t x) { return name_in(negatives_names_k, x); }
uform_negatives_t uform_negatives_from_name(uform_bytes_view_t name) { return value_in(negatives_names_k, name); }
char const *uform_pair_loss_form_name(uform_pair_loss_form_t x) { return name_in(form_names_k, x); }
uform_pair_loss_form_t uform_pair_loss_form_from_name(uform_bytes_view_t name) { return value_in(form_names_k, name); }
char const *uform_late_interaction_side_name(uform_late_interaction_side_t x) { return name_in(side_names_k, x); }
uform_late_interaction_side_t uform_late_interaction_side_from_name(uform_bytes_view_t name) {
    return value_in(side_names_k, name);
}
char const *uform_multimem_tier_name(uform_multimem_tier_t x) { return name_in(tier_names_k, x); }

void uform_mesh_bootstrap(uform_mesh_bootstrap_t *arguments) { run_verb<check_bootstrap, bootstrap>(arguments); }
void uform_mesh_describe(uform_mesh_describe_t *arguments) { run_at_once<describe>(arguments); }
void uform_mesh_free(uform_mesh_t mesh) { delete mesh; }

void uform_trainer_init_vram(uform_trainer_init_vram_t *arguments) {
    refuse_verb(arguments, "this build drives no GPU");
}
void uform_trainer_init_ram(uform_trainer_init_ram_t *arguments) { run_verb<check_init, init>(arguments); }
void uform_trainer_step(uform_trainer_step_t *arguments) { run_verb<check_step, step>(arguments); }
void uform_trainer_save(uform_trainer_save_t *arguments) { run_verb<check_save, save>(arguments); }
void uform_trainer_free(uform_trainer_t trainer) {
    if (trainer) trainer->hold.wait_idle();
    delete trainer;
}

} // extern "C"
