/**
 *  @file record_tables.hpp
 *  @brief Every struct of the C ABI that is a Python type, field by field, in the order of its header.
 */
#pragma once
#include "enums.hpp"
#include "records.hpp"

namespace binding {

enum kind_t {
    size_k,
    u64_k,
    f32_k,
    enum_k,   // `detail` names which
    record_k, // `detail` names which
    sizes_k,  // a pointer to size_t, its count behind it
    path_k,   // a uform_bytes_view_t of the system's bytes
    name_k,   // a uform_bytes_view_t of UTF-8
    text_k,   // `detail` characters inside the struct, NUL-ended
    mask_k,   // a u64 of bits; `detail` names the enum
};

struct field_t {
    char const *name;
    kind_t kind;
    std::size_t offset;
    int detail;
    char const *doc;
};

struct record_table_t {
    char const *name, *doc; // the name with its package
    std::size_t bytes, count;
    field_t const *fields;
};

#define UFORM_FIELD(record, name, kind, detail, doc)                                                                   \
    { #name, kind, offsetof(record, name), detail, doc }

inline field_t const limits_fields[] = {
    UFORM_FIELD(uform_limits_t, max_pixels, u64_k, 0, "Width times height of an image; zero: 2^27."),
    UFORM_FIELD(uform_limits_t, max_frame_pixels, u64_k, 0, "Width times height of a frame; zero: 2^26."),
    UFORM_FIELD(uform_limits_t, max_file_bytes, u64_k, 0, "Encoded bytes of one item; zero: 2^32."),
    UFORM_FIELD(uform_limits_t, max_seconds, u64_k, 0, "Seconds of one item that are decoded; zero: 3,600."),
};
inline field_t const image_shape_fields[] = {
    UFORM_FIELD(uform_image_shape_t, patch_side, size_k, 0, "Pixels on a side of one token; zero: no images."),
    UFORM_FIELD(uform_image_shape_t, channels, size_k, 0, "Of a pixel; zero: 4, premultiplied RGB with alpha."),
};
inline field_t const video_shape_fields[] = {
    UFORM_FIELD(uform_video_shape_t, patch_side, size_k, 0, "Pixels on a side of one token's square; zero: no video."),
    UFORM_FIELD(uform_video_shape_t, tube_frames, size_k, 0, "Sampled frames one token spans; zero: 2."),
    UFORM_FIELD(uform_video_shape_t, frame_stride, size_k, 0, "Every how-many-th frame is sampled; zero: 1."),
    UFORM_FIELD(uform_video_shape_t, channels, size_k, 0, "Of a pixel; zero: 3, RGB."),
};
inline field_t const audio_shape_fields[] = {
    UFORM_FIELD(uform_audio_shape_t, chunk_samples, size_k, 0, "Mono samples of one token; zero: no audio."),
    UFORM_FIELD(uform_audio_shape_t, sample_rate, size_k, 0, "Hertz everything is resampled to; zero: 16,000."),
};
inline field_t const model_description_fields[] = {
    UFORM_FIELD(uform_model_description_t, dimensions, size_k, 0, "Columns of an embedding and of a state."),
    UFORM_FIELD(uform_model_description_t, context, size_k, 0, "Tokens of one item at most."),
    UFORM_FIELD(uform_model_description_t, depth, size_k, 0, "Transformer blocks."),
    UFORM_FIELD(uform_model_description_t, quantization, enum_k, enum_scalar_k, "What the blocks are stored as."),
    UFORM_FIELD(uform_model_description_t, memory_usage, size_k, 0, "Bytes the model holds."),
    UFORM_FIELD(uform_model_description_t, cpu_class, enum_k, enum_cpu_class_k, "UNKNOWN for a model on GPUs."),
    UFORM_FIELD(uform_model_description_t, gpu_class, enum_k, enum_gpu_class_k, "UNKNOWN for a model on CPUs."),
    UFORM_FIELD(uform_model_description_t, token_width, size_k, 0, "Columns of a token vector; zero: no token head."),
    UFORM_FIELD(uform_model_description_t, choice_temperature_groups, size_k, 0, "Zero: no byte decoder."),
    UFORM_FIELD(uform_model_description_t, image, record_k, record_image_shape_k, "Zeros: no image entry."),
    UFORM_FIELD(uform_model_description_t, video, record_k, record_video_shape_k, "Zeros: no video entry."),
    UFORM_FIELD(uform_model_description_t, audio, record_k, record_audio_shape_k, "Zeros: no audio entry."),
};
inline field_t const capabilities_fields[] = {
    UFORM_FIELD(uform_capabilities_t, cpu_classes_built, mask_k, enum_cpu_class_k,
                "Classes with kernels in this build."),
    UFORM_FIELD(uform_capabilities_t, cpu_classes, mask_k, enum_cpu_class_k, "Of those, what this machine runs."),
    UFORM_FIELD(uform_capabilities_t, cpu_class, enum_k, enum_cpu_class_k, "What DERIVED resolves to."),
    UFORM_FIELD(uform_capabilities_t, gpu_classes_built, mask_k, enum_gpu_class_k, "GPU classes with kernels."),
    UFORM_FIELD(uform_capabilities_t, gpu_classes, mask_k, enum_gpu_class_k, "Of those, what this machine has."),
    UFORM_FIELD(uform_capabilities_t, gpu_devices, size_k, 0, "GPUs this process can drive."),
    UFORM_FIELD(uform_capabilities_t, threads, size_k, 0, "Threads of an executor that is not told how many."),
};
inline field_t const gpu_device_fields[] = {
    UFORM_FIELD(uform_gpu_device_t, gpu_class, enum_k, enum_gpu_class_k, "UNKNOWN where no kernels fit it."),
    UFORM_FIELD(uform_gpu_device_t, memory_bytes, size_k, 0, "Of device memory, in total."),
    UFORM_FIELD(uform_gpu_device_t, memory_domain, size_k, 0, "The nearest NUMA node; 2^64 - 1 where unknown."),
    UFORM_FIELD(uform_gpu_device_t, name, text_k, sizeof(uform_gpu_device_t::name), "The vendor's product name."),
};
inline field_t const encode_stats_fields[] = {
    UFORM_FIELD(uform_encode_stats_t, truncated, size_k, 0, "Items that did not fit the context whole."),
    UFORM_FIELD(uform_encode_stats_t, tokens, size_k, 0, "That went through the tower, over all items."),
};
inline field_t const mesh_options_fields[] = {
    UFORM_FIELD(uform_mesh_options_t, host_domain_index, size_k, 0, "Of this process, below the count."),
    UFORM_FIELD(uform_mesh_options_t, host_domain_count, size_k, 0, "Processes of the run; zero: 1."),
    UFORM_FIELD(uform_mesh_options_t, multicast_extent, size_k, 0, "Devices of one NVLink domain; zero: all found."),
    UFORM_FIELD(uform_mesh_options_t, directory, path_k, 0, "A path every host sees, to find each other in."),
    UFORM_FIELD(uform_mesh_options_t, job, name_k, 0, "The run's name."),
    UFORM_FIELD(uform_mesh_options_t, deadline_milliseconds, size_k, 0, "For peers to answer; zero: 60,000."),
};
inline field_t const mesh_description_fields[] = {
    UFORM_FIELD(uform_mesh_description_t, host_domain_index, size_k, 0, "Of this process."),
    UFORM_FIELD(uform_mesh_description_t, host_domain_count, size_k, 0, "Processes of the run."),
    UFORM_FIELD(uform_mesh_description_t, devices, size_k, 0, "Of the whole run; a process on CPUs counts as one."),
    UFORM_FIELD(uform_mesh_description_t, multimem_tier, enum_k, enum_multimem_tier_k, "The least of all domains."),
    UFORM_FIELD(uform_mesh_description_t, gpu_class, enum_k, enum_gpu_class_k, "UNKNOWN on CPUs."),
};

} // namespace binding
