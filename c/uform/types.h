/** Provisional: the words the engine's vocabulary needs, until the whole header lands. */
#ifndef UFORM_TYPES_H_
#define UFORM_TYPES_H_
#include <stddef.h>
#include <stdint.h>
typedef int32_t uform_status_t;
enum {
    uform_status_success_k = 0, uform_status_deferred_k, uform_status_out_of_memory_k, uform_status_shape_mismatch_k,
    uform_status_unsupported_layout_k, uform_status_unknown_kind_k, uform_status_io_k, uform_status_device_k,
    uform_status_malformed_k, uform_status_internal_k, uform_status_config_mismatch_k, uform_status_contended_k,
    uform_status_cancelled_k, uform_status_unsupported_k, uform_status_invalid_argument_k
};
typedef int32_t uform_cpu_class_t;
enum {
    uform_cpu_class_derived_k = 0, uform_cpu_class_serial_k, uform_cpu_class_intel_haswell_k, uform_cpu_class_intel_skylake_k,
    uform_cpu_class_amd_genoa_k
};
#endif
