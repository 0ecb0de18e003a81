/**
 *  @file safetensors.cpp
 *  @brief libFuzzer's entry to the checkpoint reader: whatever the bytes, it answers `malformed` or tensors inside
 *  them.
 */
#include <cstdint>
#include <cstdlib>

#include <uform/encoder/weights.hpp>

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const *data, std::size_t size) {
    uform::checkpoint_t checkpoint;
    uform::failure_t const failure = checkpoint.from_bytes(std::as_bytes(std::span(data, size)));
    if (failure && failure.status != uform_status_malformed_k) std::abort();
    for (uform::tensor_t const &tensor : checkpoint.tensors())
        (void)uform::first_non_finite(tensor); // reads every byte
    uform::model_options_t options;
    uform::model_notes_t notes;
    (void)uform::read_options(checkpoint, options), (void)uform::read_notes(checkpoint, notes);
    return 0;
}
