/**
 *  @file model.cpp
 *  @brief The verbs of `uform/model.h`: loading, describing and freeing models; names of modalities.
 */
#include <uform/model.h>

#include <uform/utilities/arguments.hpp>
#include <uform/utilities/classes.hpp>
#include <uform/utilities/names.hpp>

#include "model_handle.hpp"

namespace uform {
namespace {

constexpr named_t modality_names_k[] = {{uform_modality_text_k, "text"},
                                        {uform_modality_image_k, "image"},
                                        {uform_modality_video_k, "video"},
                                        {uform_modality_audio_k, "audio"}};

/** What both loads refuse alike. */
template <typename call_>
failure_t check_load(call_ const &call) noexcept {
    if (call.quantization != uform_scalar_default_k && call.quantization != uform_scalar_bf16_k &&
        call.quantization != uform_scalar_e4m3_k)
        return fail(uform_status_invalid_argument_k, "quantization must be bf16 or e4m3", "%s",
                    name_of_scalar(call.quantization));
    domains_t domains;
    if (failure_t const failure = read_domains(call.memory_domains, call.memory_domains_count, domains)) return failure;
    uform_cpu_class_t resolved;
    return resolve_class(call.cpu_class, has_kernels, resolved);
}
failure_t check_load_ram(uform_model_load_ram_t const &call) noexcept {
    if (failure_t const failure = check_path<"path">(call.path)) return failure;
    return check_load(call);
}
failure_t check_load_ram_buffer(uform_model_load_ram_buffer_t const &call) noexcept {
    if (failure_t const failure = check_bytes<"buffer">(call.buffer)) return failure;
    return check_load(call);
}

template <typename call_>
failure_t load(call_ const &call, checkpoint_t const &checkpoint, executor_t &executor) noexcept {
    uform_cpu_class_t pin = call.cpu_class ? call.cpu_class : executor.cpu_class(), resolved;
    if (failure_t const failure = resolve_class(pin, has_kernels, resolved)) return failure;
    uform_model_t const made = new (std::nothrow) uform_model_handle_t;
    if (!made) return fail(uform_status_out_of_memory_k, "memory for the model is out");
    model_target_t target {resolved, call.quantization ? call.quantization : uform_scalar_bf16_k, executor.domains()};
    if (call.memory_domains_count) {
        target.domains = {};
        (void)read_domains(call.memory_domains, call.memory_domains_count, target.domains); // accepted before queueing
    }
    failure_t const failure = made->model.load(checkpoint, target, executor, call.progress);
    if (failure)
        delete made;
    else
        *call.model = made;
    return failure;
}
failure_t load_ram(uform_model_load_ram_t const &call, executor_t &executor) noexcept {
    checkpoint_t checkpoint;
    if (failure_t const failure = checkpoint.open({static_cast<char const *>(call.path.data), call.path.length}))
        return failure;
    return load(call, checkpoint, executor);
}
failure_t load_ram_buffer(uform_model_load_ram_buffer_t const &call, executor_t &executor) noexcept {
    checkpoint_t checkpoint;
    if (failure_t const failure =
            checkpoint.from_bytes({static_cast<std::byte const *>(call.buffer.data), call.buffer.length}))
        return failure;
    return load(call, checkpoint, executor);
}

failure_t describe(uform_model_describe_t const &call) noexcept {
    if (!call.description) return fail(uform_status_invalid_argument_k, "description must not be NULL");
    model_t const &model = call.model->model;
    uform_model_description_t description {};
    description.dimensions = model.options.geometry.hidden;
    description.context = model.options.geometry.context;
    description.depth = model.options.geometry.depth;
    description.quantization = model.quantization;
    description.memory_usage = model.bytes();
    description.cpu_class = model.cpu_class;
    description.gpu_class = uform_gpu_class_unknown_k;
    description.token_width = model.options.token_width;
    description.choice_temperature_groups =
        model.options.decoder ? std::max<std::size_t>(model.options.choice_groups, 1) : 0;
    description.image.patch_side = model.options.image.patch_side;
    description.image.channels = model.options.image.channels;
    if (video_entry_t const &video = model.options.video)
        description.video = {video.patch_side, video.tube_frames, video.frame_stride, video.channels};
    description.audio = {model.options.audio.chunk_samples, model.options.audio.sample_rate};
    *call.description = description;
    return {};
}

} // namespace
} // namespace uform

extern "C" {

char const *uform_modality_name(uform_modality_t x) { return uform::name_in(uform::modality_names_k, x); }
uform_modality_t uform_modality_from_name(uform_bytes_view_t name) {
    return uform::value_in(uform::modality_names_k, name);
}

void uform_model_load_ram(uform_model_load_ram_t *arguments) {
    uform::run_verb<uform::check_load_ram, uform::load_ram>(arguments);
}
void uform_model_load_ram_buffer(uform_model_load_ram_buffer_t *arguments) {
    uform::run_verb<uform::check_load_ram_buffer, uform::load_ram_buffer>(arguments);
}
void uform_model_load_vram(uform_model_load_vram_t *arguments) {
    uform::refuse_verb(arguments, "this build drives no GPU");
}
void uform_model_load_vram_buffer(uform_model_load_vram_buffer_t *arguments) {
    uform::refuse_verb(arguments, "this build drives no GPU");
}
void uform_model_describe(uform_model_describe_t *arguments) { uform::run_at_once<uform::describe>(arguments); }
void uform_model_free(uform_model_t model) {
    if (!model) return;
    model->users.wait_idle();
    delete model;
}

} // extern "C"
