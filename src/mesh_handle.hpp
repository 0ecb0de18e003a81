/**
 *  @file mesh_handle.hpp
 *  @brief What `uform_mesh_t` points to: a joined run, and the executor that its trainers name.
 */
#pragma once
#include <uform/train.h>

#include <uform/mesh/mesh.hpp>
#include <uform/utilities/hold.hpp>

struct uform_mesh_handle_t {
    uform::mesh_t mesh;
    uform_executor_t executor = nullptr;
    std::uint32_t process = uform::this_process(); // a forked child has no connections
};
