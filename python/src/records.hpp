/**
 *  @file records.hpp
 *  @brief The C structs that callers fill or read, as Python types made from one table of their fields.
 *
 *  An instance holds the C struct itself, and what its pointers point to. Nothing changes it once it is made, so a call
 *  may read it for as long as it holds a reference; statistics alone are overwritten, by the calls they are given to.
 */
#pragma once
#include "python.hpp"

namespace binding {

enum record_t {
    record_limits_k,
    record_image_shape_k,
    record_video_shape_k,
    record_audio_shape_k,
    record_model_description_k,
    record_capabilities_k,
    record_gpu_device_k,
    record_text_encode_stats_k,
    record_image_encode_stats_k,
    record_video_encode_stats_k,
    record_audio_encode_stats_k,
    record_text_choose_stats_k,
    record_mesh_options_k,
    record_mesh_description_k,
    record_batch_shape_k,
    record_masking_k,
    record_contrastive_k,
    record_late_interaction_k,
    record_choices_k,
    record_regularizers_k,
    record_schedule_k,
    record_trainer_step_stats_k,
    record_count_k
};

bool add_records(PyObject *module) noexcept;

/** A new instance holding a copy of a struct without pointers. */
PyObject *from_record(record_t which, void const *value) noexcept;
/** Copies an instance's struct, or that of a tuple of fields in order; absent or None leaves it. `keep` holds what its
 *  pointers point to. */
bool to_record(record_t which, PyObject *value, char const *name, reference_t &keep, void *out) noexcept;
/** An instance to overwrite later; absent or None gives none. */
bool to_stats(record_t which, PyObject *value, reference_t &keep) noexcept;
void write_stats(PyObject *record, void const *value, std::size_t bytes) noexcept;

} // namespace binding
