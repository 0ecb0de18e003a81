/**
 *  @file types.h
 *  @brief The words every UForm verb shares: statuses, scalars, hardware classes, views, outcomes, executors, arenas.
 *
 *  First of the four headers of the C ABI, included by the other three; it knows nothing of models or training. C99,
 *  valid C++, with no feature macro: the layout of every struct is the same in every build.
 *
 *  Rules all verbs keep:
 *  - A verb takes one pointer to a struct named after it. A zeroed field means its documented default, so
 *    `uform_text_encode_t call = {0};` is the right start in C, and `{}` in C++.
 *  - The struct and everything it points to stay the caller's. A blocking verb is done with both when it returns. A
 *    queued verb copies the struct before it returns, and reads what the struct points to until the outcome is final.
 *    Where `executor` is NULL nothing can be queued, and a queued verb blocks.
 *  - Where a verb takes `outcome`, NULL makes the call a no-op: there is nowhere to answer.
 *  - Refusals of arguments happen before anything is queued, and name the field at fault. On failure no output is
 *    written, handle outputs become NULL, and the arena holds nothing published.
 *  - No verb throws, aborts, prints, reads the environment or the locale, or installs a handler.
 *  - In a child of fork(), models, arenas and trainers work as before, executors made before it are `unsupported`: their
 *    threads stayed in the parent. So is what served a call at that moment; freeing it is safe, and leaks its memory.
 */
#ifndef UFORM_TYPES_H_
#define UFORM_TYPES_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__) && !defined(_WIN32)
#define UFORM_API __attribute__((visibility("default")))
#else
#define UFORM_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/** The version of the ABI this header declares; `uform_version` answers the version that is linked. */
#define UFORM_VERSION_MAJOR 4
#define UFORM_VERSION_MINOR 0
#define UFORM_VERSION_PATCH 0

/* Every enum is an `int32_t` in both languages. In each, -1 is the `_unknown_k` sentinel that `*_from_name` answers for
 *  a spelling it does not know, and "unknown" is what `*_name` answers for a value it does not know. Spellings are lower
 *  case with hyphens, and `*_from_name(*_name(x))` is `x` for every enumerator. */

/** How a call stands or how it ended. Only `deferred` is not final. */
typedef int32_t uform_status_t;
enum {
    uform_status_unknown_k = -1,           /**< not a status: the sentinel of `uform_status_from_name` */
    uform_status_success_k = 0,            /**< done, every output is written */
    uform_status_deferred_k = 1,           /**< queued or running; the outcome is not final */
    uform_status_out_of_memory_k = 2,      /**< host or device memory ran out; retry with less */
    uform_status_shape_mismatch_k = 3,     /**< sizes disagree with each other or with a capacity fixed earlier */
    uform_status_unsupported_layout_k = 4, /**< the file's structure is valid, but not one this build reads */
    uform_status_unknown_kind_k = 5,       /**< the content's format is not recognized */
    uform_status_io_k = 6,                 /**< the operating system failed to open, read, map or write */
    uform_status_device_k = 7,             /**< an accelerator failed, or memory is not where it must be */
    uform_status_malformed_k = 8,          /**< the content breaks its own format, or holds NaN or infinity */
    uform_status_internal_k = 9,           /**< the library broke its own promise: a bug to report */
    uform_status_config_mismatch_k = 10,   /**< processes, or a run and its checkpoint, disagree */
    uform_status_contended_k = 11,         /**< another call holds the executor or the arena */
    uform_status_cancelled_k = 12,         /**< the progress handler answered false */
    uform_status_unsupported_k = 13,       /**< valid, but not something this build, machine or model can do */
    uform_status_invalid_argument_k = 14   /**< an argument no build would accept */
};
/** Static spelling, such as "shape-mismatch"; "unknown" for any other value. */
UFORM_API char const *uform_status_name(uform_status_t status);

/** How an element is stored. Zero lets the verb choose, and each verb says what it chooses. */
typedef int32_t uform_scalar_t;
enum {
    uform_scalar_unknown_k = -1, /**< the sentinel of `uform_scalar_from_name` */
    uform_scalar_default_k = 0,  /**< the documented default of the field */
    uform_scalar_f32_k = 1,      /**< IEEE 754 binary32 */
    uform_scalar_bf16_k = 2,     /**< BFloat16: the upper half of binary32 */
    uform_scalar_f16_k = 3,      /**< IEEE 754 binary16 */
    uform_scalar_e4m3_k = 4,     /**< OCP FP8 E4M3 FN: bias 7, largest 448, no infinity */
    uform_scalar_i8_k = 5,       /**< two's complement; a unit value x lands as round(127 x) */
    uform_scalar_u8_k = 6,       /**< bytes: text, files, pixels */
    uform_scalar_u32_k = 7,
    uform_scalar_u64_k = 8
};
UFORM_API char const *uform_scalar_name(uform_scalar_t scalar);
/** Bytes one element occupies; zero for `default` and for values that are not scalars. */
UFORM_API size_t uform_scalar_bytes(uform_scalar_t scalar);

/** Whether a verb returns after the work or before it. */
typedef int32_t uform_completion_t;
enum {
    uform_completion_unknown_k = -1,
    uform_completion_blocking_k = 0, /**< the verb returns with the outcome final */
    uform_completion_queued_k = 1    /**< the verb returns once queued on its executor; see `uform_outcome_wait`. Without
                                          an executor there is no thread to queue on: it returns with the call done */
};
UFORM_API char const *uform_completion_name(uform_completion_t completion);

/** How an executor's threads pass the time between calls. */
typedef int32_t uform_mood_t;
enum {
    uform_mood_unknown_k = -1,
    uform_mood_spinning_k = 0, /**< threads watch for work a while before they sleep: lowest latency */
    uform_mood_parked_k = 1    /**< threads sleep at once: no idle cost */
};
UFORM_API char const *uform_mood_name(uform_mood_t mood);

/** Families of CPUs that share one set of kernels. A class this build has no kernels for is derived past; a pin on it
 *  is `unsupported`. */
typedef int32_t uform_cpu_class_t;
enum {
    uform_cpu_class_unknown_k = -1,
    uform_cpu_class_derived_k = 0,               /**< the best class this machine runs and this build carries */
    uform_cpu_class_serial_k = 1,                /**< portable loops: the floor, and the same bits everywhere */
    uform_cpu_class_intel_haswell_k = 2,         /**< AVX2, FMA, F16C */
    uform_cpu_class_intel_skylake_k = 3,         /**< AVX-512 F, BW, DQ, VL */
    uform_cpu_class_amd_genoa_k = 4,             /**< Skylake's, with AVX-512 BF16 and VNNI */
    uform_cpu_class_intel_sapphire_rapids_k = 5, /**< Genoa's, with AMX tiles of BFloat16 */
    uform_cpu_class_intel_diamond_rapids_k = 6,  /**< Sapphire Rapids', with AMX FP8 */
    uform_cpu_class_neon_k = 7,                  /**< Advanced SIMD of AArch64 */
    uform_cpu_class_aws_graviton2_k = 8,         /**< NEON with dot products and binary16 */
    uform_cpu_class_aws_graviton3_k = 9,         /**< SVE with BFloat16 */
    uform_cpu_class_nvidia_vera_k = 10,          /**< SVE2 with FP8 */
    uform_cpu_class_wasm_simd_k = 11             /**< WebAssembly's 128-bit vectors */
};
UFORM_API char const *uform_cpu_class_name(uform_cpu_class_t cpu_class);

/** Families of GPUs that share one set of kernels. */
typedef int32_t uform_gpu_class_t;
enum {
    uform_gpu_class_unknown_k = -1, /**< no GPU takes part, as in a description of something on CPUs */
    uform_gpu_class_derived_k = 0,  /**< the device's own */
    uform_gpu_class_nvidia_ampere_k = 1,
    uform_gpu_class_nvidia_ada_k = 2,
    uform_gpu_class_nvidia_hopper_k = 3,
    uform_gpu_class_nvidia_blackwell_k = 4,
    uform_gpu_class_amd_cdna3_k = 5,
    uform_gpu_class_amd_cdna4_k = 6,
    uform_gpu_class_amd_cdna5_k = 7
};
UFORM_API char const *uform_gpu_class_name(uform_gpu_class_t gpu_class);

/** Bytes the caller lends: a path, a name, a file already in memory. `data` may be NULL where `length` is zero. A path
 *  holds the operating system's own bytes, in no particular encoding; one with a NUL byte inside is
 *  `invalid_argument`. A name is UTF-8. */
typedef struct uform_bytes_view_t {
    void const *data;
    size_t length; /**< bytes, without any terminator */
} uform_bytes_view_t;

UFORM_API uform_status_t uform_status_from_name(uform_bytes_view_t name);
UFORM_API uform_scalar_t uform_scalar_from_name(uform_bytes_view_t name);
UFORM_API uform_completion_t uform_completion_from_name(uform_bytes_view_t name);
UFORM_API uform_mood_t uform_mood_from_name(uform_bytes_view_t name);
UFORM_API uform_cpu_class_t uform_cpu_class_from_name(uform_bytes_view_t name);
UFORM_API uform_gpu_class_t uform_gpu_class_from_name(uform_bytes_view_t name);

/** Items of different lengths, laid end to end: item i is elements `[offsets[i], offsets[i + 1])` of `data`. How many
 *  items there are is a field of the verb. */
typedef struct uform_tape_view_t {
    void const *data;      /**< elements of `scalar`; may be NULL where every item is empty */
    size_t const *offsets; /**< [count + 1], never decreasing, in elements; the first need not be zero */
    uform_scalar_t scalar; /**< what `data` holds; zero: what the field documents */
} uform_tape_view_t;

/** A matrix in an arena, readable until the arena is rewound or freed. Row i starts `i * stride` bytes into `data`. One
 *  that a verb reads may live anywhere but in that verb's own arena, with `data` and `stride` multiples of the scalar's
 *  bytes. */
typedef struct uform_rows_t {
    void const *data;
    size_t count;   /**< rows */
    size_t columns; /**< elements of a row */
    size_t stride;  /**< bytes from one row's start to the next's, at least `columns` elements */
    uform_scalar_t scalar;
} uform_rows_t;

/** Rows grouped by item: item i owns rows `[offsets[i], offsets[i + 1])`. Starts like a `uform_rows_t`. */
typedef struct uform_rows_tape_t {
    void const *data;
    size_t count;   /**< rows of all items together */
    size_t columns; /**< elements of a row */
    size_t stride;  /**< bytes from one row's start to the next's */
    uform_scalar_t scalar;
    size_t const *offsets; /**< [items + 1], from zero to `count`, in the same arena */
} uform_rows_tape_t;

#define UFORM_DETAIL_CAPACITY 256

/** How a call ended. The caller owns it and keeps it in place until it is final. It needs no initialization. While the
 *  status reads `deferred`, nothing else in it may be read. */
typedef struct uform_outcome_t {
    uform_status_t status;              /**< stored last, with release order; read it by `uform_outcome_status` */
    char const *message;                /**< static storage, never NULL once final; empty on success */
    size_t item;                        /**< index of the item at fault, SIZE_MAX where no one item is */
    char detail[UFORM_DETAIL_CAPACITY]; /**< what varies: a tensor's name, both values; UTF-8, always NUL-ended */
} uform_outcome_t;

/** The status as it is now, with acquire order: once it is not `deferred`, the call's outputs may be read. NULL gives
 *  `invalid_argument`. */
UFORM_API uform_status_t uform_outcome_status(uform_outcome_t const *outcome);
/** Sleeps until the status is final and answers it. Any number of threads may wait for one outcome. */
UFORM_API uform_status_t uform_outcome_wait(uform_outcome_t const *outcome);

/** Called now and then while a verb runs, from any of the executor's threads, one call at a time; without an executor,
 *  from the calling thread, always under the default floating-point mode. It must not name the executor, arena or handle of the call it reports on in another verb. A
 *  child forked inside it must not return from it: the threads that would go on with the call stayed in the parent. */
typedef struct uform_progress_t {
    /** Answers false to stop: the call ends `cancelled` within one micro-batch, and so it does where the last report is
     *  answered false. While a file is decoded it is asked too, with the counts as they are, every 20 milliseconds at
     *  most. A call with nothing to count reports nothing. NULL: no reports. */
    bool (*callback)(size_t completed, size_t total, void *context);
    void *context; /**< handed to `callback` as it is */
} uform_progress_t;

/** The most that decoding one file may ask for, checked against its header before anything is allocated; above it the
 *  item fails with `malformed`. */
typedef struct uform_limits_t {
    uint64_t max_pixels;       /**< width times height of an image; zero: 2^27 */
    uint64_t max_frame_pixels; /**< width times height of a video's frame; zero: 2^26 */
    uint64_t max_file_bytes;   /**< encoded bytes of one item; zero: 2^32 */
    uint64_t max_seconds;      /**< seconds of a clip or a recording that are decoded; zero: 3,600 */
} uform_limits_t;

/** Threads, or device streams, with the scratch memory calls run in. Runs one call at a time: a second, from any
 *  thread, ends at once with `contended`. NULL, wherever a verb takes one, is the calling thread alone. */
typedef struct uform_executor_handle_t *uform_executor_t;

/** Starts the threads of a host executor. They hold their memory and wait, spinning first. */
typedef struct uform_executor_for_ram_t {
    uform_executor_t *executor;  /**< the new executor; NULL on failure */
    uform_outcome_t *outcome;    /**< final on return */
    size_t const *memory_domains; /**< NUMA nodes to take cores from, as the system numbers them */
    size_t memory_domains_count; /**< zero: all, whatever `memory_domains` is */
    uform_cpu_class_t cpu_class; /**< a pin for reranking, training, and loads that pin none; `unsupported` where the
                                      machine or the build lacks it. Encoding and choosing run as the model's class */
    size_t threads;              /**< zero: 7/8 of the cores that affinity and control groups leave, to the nearest, so
                                      all of up to four */
} uform_executor_for_ram_t;
UFORM_API void uform_executor_for_ram(uform_executor_for_ram_t *arguments);

/** Opens one stream per GPU. `unsupported` in builds without a GPU vendor. */
typedef struct uform_executor_for_vram_t {
    uform_executor_t *executor;
    uform_outcome_t *outcome;
    size_t const *devices;       /**< positions in what `uform_gpu_devices` lists; NULL: the first */
    size_t devices_count;
    uform_gpu_class_t gpu_class; /**< a pin, for all devices */
    void *const *streams;        /**< vendor streams to borrow, one per device; not NULL is `unsupported` for now */
    size_t streams_count;
    uform_cpu_class_t cpu_class; /**< the class of its host side */
    size_t const *memory_domains; /**< NUMA nodes of its host side */
    size_t memory_domains_count;
    size_t scratch_limit;        /**< bytes of scratch per device at most; zero: as much as calls ask for */
} uform_executor_for_vram_t;
UFORM_API void uform_executor_for_vram(uform_executor_for_vram_t *arguments);

/** Would borrow the threads of a pool the caller runs. Always `unsupported`, until borrowing is designed. */
typedef struct uform_executor_on_pool_t {
    uform_executor_t *executor;
    uform_outcome_t *outcome;
    size_t const *memory_domains;
    size_t memory_domains_count;
    uform_cpu_class_t cpu_class;
    void *pool;     /**< outlives the executor */
    size_t threads; /**< of the pool's, at most; zero: all */
} uform_executor_on_pool_t;
UFORM_API void uform_executor_on_pool(uform_executor_on_pool_t *arguments);

/** Waits until no call holds the executor and its devices are idle, then sets how its threads idle. */
typedef struct uform_executor_drain_t {
    uform_executor_t executor; /**< NULL succeeds at once */
    uform_outcome_t *outcome;  /**< final on return */
    uform_mood_t mood;         /**< zero keeps threads spinning */
} uform_executor_drain_t;
UFORM_API void uform_executor_drain(uform_executor_drain_t *arguments);

/** Waits for the call that holds it, then frees it. NULL is safe; it cannot fail. */
UFORM_API void uform_executor_free(uform_executor_t executor);

/** One GPU that this process can drive. Its position in the list is the ordinal other verbs name it by. */
typedef struct uform_gpu_device_t {
    uform_gpu_class_t gpu_class; /**< `unknown` where no kernels fit it */
    size_t memory_bytes;         /**< of device memory, in total */
    size_t memory_domain;        /**< the nearest NUMA node; SIZE_MAX where the system does not say */
    char name[128];              /**< the vendor's product name, NUL-ended UTF-8 */
} uform_gpu_device_t;
/** Writes up to `capacity` devices, NVIDIA first, then AMD, and answers how many there are; zero where there are none.
 *  `devices` may be NULL where `capacity` is zero. */
UFORM_API size_t uform_gpu_devices(uform_gpu_device_t *devices, size_t capacity);

/** The memory that outputs land in, placed where its executor computes. Each call that names it rewinds it, so views of
 *  the call before die; it keeps the largest size it ever needed. One in use by an unfinished call makes a second
 *  call end with `contended`. */
typedef struct uform_arena_handle_t *uform_arena_t;

/** Makes an empty arena; memory is taken by the first call that lands in it. */
typedef struct uform_arena_init_t {
    uform_arena_t *arena;      /**< the new arena; NULL on failure */
    uform_executor_t executor; /**< decides the memory; NULL: host pages */
    uform_outcome_t *outcome;  /**< final on return */
} uform_arena_init_t;
UFORM_API void uform_arena_init(uform_arena_init_t *arguments);
/** Waits for the call that writes into it, then frees it and everything that landed in it. NULL is safe. */
UFORM_API void uform_arena_free(uform_arena_t arena);

/** Version of the linked library, "major.minor.patch", in static storage. */
UFORM_API char const *uform_version(void);

/** What calls can be dispatched to. A mask has bit `1 << x` set for class x. */
typedef struct uform_capabilities_t {
    uint64_t cpu_classes_built; /**< classes this build has kernels for */
    uint64_t cpu_classes;       /**< of those, the ones this machine and its operating system run */
    uform_cpu_class_t cpu_class; /**< what `derived` resolves to */
    uint64_t gpu_classes_built; /**< GPU classes this build has kernels for */
    uint64_t gpu_classes;       /**< of those, the ones found in this machine */
    size_t gpu_devices;         /**< what `uform_gpu_devices` answers */
    size_t threads;             /**< what a zero `threads` of `uform_executor_for_ram` resolves to */
} uform_capabilities_t;
UFORM_API uform_capabilities_t uform_capabilities(void);

#ifdef __cplusplus
}
#endif
#endif
