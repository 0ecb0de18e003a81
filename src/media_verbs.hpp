/**
 *  @file media_verbs.hpp
 *  @brief What the verbs of every medium do alike: refuse files, and once their items are measured claim, encode, answer.
 */
#pragma once
#include <uform/encoder/media_encode.hpp>
#include <uform/utilities/inputs.hpp>

#include "surfaces.hpp"

namespace uform {

/** Refuses files, and outputs, that no verb over files takes. */
template <typename call_>
failure_t check_files(call_ const &call) noexcept {
    if (failure_t const failure = check_tape<"files">(call.files, call.count, uform_scalar_u8_k)) return failure;
    if (failure_t const failure = check_surfaces(call)) return failure;
    return check_inputs(call.arena, {input_of("files.data", call.files, call.count),
                                     offsets_of("files.offsets", call.files.offsets, call.count)});
}

/** `items` knows the grids of the call's items and fills their tokens. */
template <typename call_, typename items_>
failure_t encode_measured(call_ const &call, medium_t medium, items_ &items, executor_t &executor) noexcept {
    failure_t const out_of_memory = fail(uform_status_out_of_memory_k, "memory for the outputs is out");
    media_encode_job_t job;
    job.model = &call.model->model, job.progress = call.progress, job.medium = medium;
    job.scalar = call.outputs_scalar ? call.outputs_scalar : uform_scalar_f32_k;
    job.grids = items.grids(), job.count = call.count, job.source = items.source();
    std::size_t *const token_offsets = call.arena->arena.template claim<std::size_t>(call.count + 1);
    if (!token_offsets) return out_of_memory;
    std::size_t const truncated = measure_media(job, token_offsets);
    job.token_offsets = token_offsets;
    if (!claim_surfaces(call, job)) return out_of_memory;
    if (failure_t const failure = encode_media(job, executor)) return failure;
    publish_surfaces(call, job, truncated);
    return {};
}

} // namespace uform
