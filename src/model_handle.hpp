/**
 *  @file model_handle.hpp
 *  @brief What `uform_model_t` points to: an immutable model and the calls that use it.
 */
#pragma once
#include <uform/model.h>

#include <uform/encoder/model.hpp>
#include <uform/utilities/call.hpp>

struct uform_model_handle_t {
    uform::model_t model;
    uform::users_t users;
};
