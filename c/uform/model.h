/**
 *  @file model.h
 *  @brief Loading checkpoints into immutable models, describing and freeing them.
 *
 *  Second of the four headers of the C ABI. A model is a safetensors file turned into packed weights of one CPU or GPU
 *  class. It owns no threads and keeps no state between calls, so any number of threads and executors may use it.
 */
#ifndef UFORM_MODEL_H_
#define UFORM_MODEL_H_

#include <uform/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What the bytes of one item are. */
typedef int32_t uform_modality_t;
enum {
    uform_modality_unknown_k = -1,
    uform_modality_text_k = 0,  /**< any bytes, one token each */
    uform_modality_image_k = 1, /**< a JPEG, PNG or WebP file; one token per square patch */
    uform_modality_video_k = 2, /**< an MP4 or WebM file; one token per patch through a few frames */
    uform_modality_audio_k = 3  /**< a WAV, FLAC, MP3 or Opus file; one token per chunk of samples */
};
UFORM_API char const *uform_modality_name(uform_modality_t modality);
UFORM_API uform_modality_t uform_modality_from_name(uform_bytes_view_t name);

/** How images become tokens; all zeros: they do not. */
typedef struct uform_image_shape_t {
    size_t patch_side; /**< pixels on a side of one square token; zero: no images */
    size_t channels;   /**< of a pixel; zero: 4, premultiplied RGB with alpha */
} uform_image_shape_t;

/** How clips become tokens; all zeros: they do not. */
typedef struct uform_video_shape_t {
    size_t patch_side;   /**< pixels on a side of one token's square; zero: no video */
    size_t tube_frames;  /**< sampled frames that one token spans; zero: 2 */
    size_t frame_stride; /**< every how-many-th decoded frame is sampled; zero: 1 */
    size_t channels;     /**< of a pixel; zero: 3, RGB */
} uform_video_shape_t;

/** How recordings become tokens; all zeros: they do not. */
typedef struct uform_audio_shape_t {
    size_t chunk_samples; /**< mono samples of one token; zero: no audio */
    size_t sample_rate;   /**< hertz that everything is resampled to; zero: 16,000 */
} uform_audio_shape_t;

/** A loaded checkpoint. Immutable: threads share it freely. */
typedef struct uform_model_handle_t *uform_model_t;

/** Maps a safetensors file and packs it, once, for one CPU class. While it loads, memory stays below the file's size
 *  plus the packed size; a program that cuts the file short meanwhile ends this one with SIGBUS, so replace files by
 *  rename, or load from a buffer. Fails with `io` where the file cannot be read, `malformed` where it breaks the format,
 *  is not a UForm 4 checkpoint, or holds weights that are not finite (`detail` names the tensor). */
typedef struct uform_model_load_ram_t {
    uform_model_t *model;          /**< the new model; NULL on failure */
    uform_executor_t executor;     /**< packs in parallel; NULL: the calling thread */
    uform_outcome_t *outcome;
    uform_completion_t completion;
    uform_bytes_view_t path;
    uform_scalar_t quantization;   /**< of the blocks' matrices: bf16 or e4m3; zero: bf16, as stored. E4M3 halves their
                                        memory and rounds, without scales, them and the activations that enter
                                        attention.output, mlp.gate and mlp.up: on the model that ships, embeddings of
                                        1,000 texts keep a cosine of .991 at least to those of bf16 */
    uform_cpu_class_t cpu_class;   /**< a pin, for every encode with this model, on whatever executor; zero: that of
                                        `executor`, or derived */
    size_t const *memory_domains;  /**< NUMA nodes to place weights on */
    size_t memory_domains_count;   /**< zero: the executor's nodes, else by first touch */
    uform_progress_t progress;     /**< counts groups of matrices as they are packed */
} uform_model_load_ram_t;
UFORM_API void uform_model_load_ram(uform_model_load_ram_t *arguments);

/** Like `uform_model_load_ram`, from a checkpoint's bytes, which are not needed afterwards. */
typedef struct uform_model_load_ram_buffer_t {
    uform_model_t *model;
    uform_executor_t executor;
    uform_outcome_t *outcome;
    uform_completion_t completion;
    uform_bytes_view_t buffer;     /**< the whole file; read until the outcome is final */
    uform_scalar_t quantization;
    uform_cpu_class_t cpu_class;
    size_t const *memory_domains;
    size_t memory_domains_count;
    uform_progress_t progress;
} uform_model_load_ram_buffer_t;
UFORM_API void uform_model_load_ram_buffer(uform_model_load_ram_buffer_t *arguments);

/** Like `uform_model_load_ram`, onto GPUs: one copy of the weights per device. */
typedef struct uform_model_load_vram_t {
    uform_model_t *model;
    uform_executor_t executor;     /**< a VRAM executor; NULL: the default stream of each device */
    uform_outcome_t *outcome;
    uform_completion_t completion;
    uform_bytes_view_t path;
    uform_scalar_t quantization;
    uform_gpu_class_t gpu_class;   /**< a pin; zero: the executor's, or the device's own */
    size_t const *devices;         /**< positions in what `uform_gpu_devices` lists; NULL: the executor's, or 0 */
    size_t devices_count;
    uform_progress_t progress;
} uform_model_load_vram_t;
UFORM_API void uform_model_load_vram(uform_model_load_vram_t *arguments);

/** Like `uform_model_load_vram`, from a checkpoint's bytes in host memory. */
typedef struct uform_model_load_vram_buffer_t {
    uform_model_t *model;
    uform_executor_t executor;
    uform_outcome_t *outcome;
    uform_completion_t completion;
    uform_bytes_view_t buffer;
    uform_scalar_t quantization;
    uform_gpu_class_t gpu_class;
    size_t const *devices;
    size_t devices_count;
    uform_progress_t progress;
} uform_model_load_vram_buffer_t;
UFORM_API void uform_model_load_vram_buffer(uform_model_load_vram_buffer_t *arguments);

/** What a model is and what it can answer. A head or an entry that its checkpoint lacks reads as zeros. */
typedef struct uform_model_description_t {
    size_t dimensions;           /**< columns of an embedding and of a state: the hidden width */
    size_t context;              /**< tokens of one item at most; what is beyond is cut and counted `truncated` */
    size_t depth;                /**< transformer blocks */
    uform_scalar_t quantization; /**< what the blocks are stored as: bf16 or e4m3 */
    size_t memory_usage;         /**< bytes the model holds, packed weights included, over all its devices */
    uform_cpu_class_t cpu_class; /**< the class the weights are packed for; `unknown` for a model on GPUs */
    uform_gpu_class_t gpu_class; /**< the class the weights are packed for; `unknown` for a model on CPUs */
    size_t token_width;          /**< columns of a token vector; zero: no token head */
    size_t choice_temperature_groups; /**< question types calibrated; zero: no byte decoder */
    uform_image_shape_t image;   /**< zeros: no image entry */
    uform_video_shape_t video;   /**< zeros: no video entry */
    uform_audio_shape_t audio;   /**< zeros: no audio entry */
} uform_model_description_t;

/** Reads a model's description. */
typedef struct uform_model_describe_t {
    uform_model_t model;
    uform_outcome_t *outcome; /**< final on return */
    uform_model_description_t *description;
} uform_model_describe_t;
UFORM_API void uform_model_describe(uform_model_describe_t *arguments);

/** Waits for the calls that use it, then frees it. NULL is safe; it cannot fail. */
UFORM_API void uform_model_free(uform_model_t model);

#ifdef __cplusplus
}
#endif
#endif
