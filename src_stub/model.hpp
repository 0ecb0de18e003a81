/**
 *  @file model.hpp
 *  @brief What `uform_model_t` points to: the sizes its checkpoint tells of. The weights were checked and let go.
 */
#pragma once
#include <uform/model.h>

#include "checkpoint.hpp"
#include "hold.hpp"

struct uform_model_handle_t {
    uform_stub::sizes_t sizes;
    uform_scalar_t quantization = uform_scalar_bf16_k;
    std::size_t weight_bytes = 0; // what they would take, were they kept
    uform_stub::hold_t users;
};
