/**
 *  @file model.cpp
 *  @brief The verbs of `uform/model.h`.
 */
#include <uform/model.h>

#include "arguments.hpp"
#include "call.hpp"
#include "model.hpp"
#include "names.hpp"

namespace uform_stub {
namespace {

constexpr named_t modality_names_k[] = {{uform_modality_text_k, "text"},
                                        {uform_modality_image_k, "image"},
                                        {uform_modality_video_k, "video"},
                                        {uform_modality_audio_k, "audio"}};

template <typename call_>
void check_load(call_ const &call) {
    if (call.quantization != uform_scalar_default_k && call.quantization != uform_scalar_bf16_k &&
        call.quantization != uform_scalar_e4m3_k)
        refuse("quantization must be bf16 or e4m3", uform_scalar_name(call.quantization));
    check_domains(call.memory_domains, call.memory_domains_count);
    check_class(call.cpu_class);
}
void check_load_ram(uform_model_load_ram_t const &call) {
    check_path(UFORM_STUB_FIELD("path"), call.path, true);
    check_load(call);
}
void check_load_ram_buffer(uform_model_load_ram_buffer_t const &call) {
    check_bytes(UFORM_STUB_FIELD("buffer"), call.buffer);
    check_load(call);
}

template <typename call_>
void load(call_ const &call, std::string bytes) {
    checkpoint_t const checkpoint(std::move(bytes));
    auto model = std::make_unique<uform_model_handle_t>();
    model->sizes = read_sizes(checkpoint);
    if (call.quantization) model->quantization = call.quantization;
    std::vector<spec_t> const specs = tensors_of(model->sizes);
    for (spec_t const &spec : specs) {
        check_finite(*checkpoint.find(spec.name));
        bool const narrow =
            call.quantization == uform_scalar_e4m3_k && spec.name.starts_with("blocks.") && !spec.is_f32;
        model->weight_bytes += spec.bytes() / (narrow ? 2 : 1);
    }
    for (std::size_t i = 0; i < specs.size(); ++i)
        advance(call.progress, i + 1, specs.size(), "the progress handler stopped the load");
    *call.model = model.release();
}
void load_ram(uform_model_load_ram_t const &call) { load(call, read_file(text_of(call.path))); }
void load_ram_buffer(uform_model_load_ram_buffer_t const &call) { load(call, std::string(text_of(call.buffer))); }

void describe(uform_model_describe_t const &call) {
    if (!call.description) refuse("description must not be NULL");
    sizes_t const &sizes = call.model->sizes;
    uform_model_description_t description {};
    description.dimensions = sizes.hidden, description.context = sizes.context, description.depth = sizes.depth;
    description.quantization = call.model->quantization;
    description.memory_usage = sizeof(uform_model_handle_t) + call.model->weight_bytes;
    description.cpu_class = uform_cpu_class_serial_k, description.gpu_class = uform_gpu_class_unknown_k;
    description.token_width = sizes.token_width;
    description.image = sizes.image, description.video = sizes.video, description.audio = sizes.audio;
    if (sizes.decoder) description.choice_temperature_groups = std::max<std::size_t>(sizes.choice_groups, 1);
    *call.description = description;
}

} // namespace
} // namespace uform_stub

using namespace uform_stub;

extern "C" {

char const *uform_modality_name(uform_modality_t x) { return name_in(modality_names_k, x); }
uform_modality_t uform_modality_from_name(uform_bytes_view_t name) { return value_in(modality_names_k, name); }

void uform_model_load_ram(uform_model_load_ram_t *arguments) { run_verb<check_load_ram, load_ram>(arguments); }
void uform_model_load_ram_buffer(uform_model_load_ram_buffer_t *arguments) {
    run_verb<check_load_ram_buffer, load_ram_buffer>(arguments);
}
void uform_model_load_vram(uform_model_load_vram_t *arguments) { refuse_verb(arguments, "this build drives no GPU"); }
void uform_model_load_vram_buffer(uform_model_load_vram_buffer_t *arguments) {
    refuse_verb(arguments, "this build drives no GPU");
}
void uform_model_describe(uform_model_describe_t *arguments) { run_at_once<describe>(arguments); }
void uform_model_free(uform_model_t model) {
    if (model) model->users.wait_idle();
    delete model;
}

} // extern "C"
