/**
 *  @file enums.hpp
 *  @brief The C enums as `enum.IntEnum` classes, built at import by asking the C name functions.
 */
#pragma once
#include "python.hpp"

namespace binding {

enum enum_t {
    enum_status_k,
    enum_scalar_k,
    enum_completion_k,
    enum_mood_k,
    enum_cpu_class_k,
    enum_gpu_class_k,
    enum_modality_k,
    enum_multimem_tier_k,
    enum_objective_k,
    enum_negatives_k,
    enum_pair_loss_form_k,
    enum_late_interaction_side_k,
    enum_count_k
};

bool add_enums(PyObject *module) noexcept;

/** The member of a value, or a plain int where the class has none. */
PyObject *from_enum(enum_t which, std::int32_t value) noexcept;
/** A member, or an int of any size that fits; absent or None leaves it. Members of other enums, bools and strings are
 *  TypeErrors. */
bool to_enum(enum_t which, PyObject *value, char const *name, std::int32_t &out) noexcept;
/** A mask with bit `1 << x` set for class x, as a tuple of members. */
PyObject *from_mask(enum_t which, std::uint64_t mask) noexcept;
/** Such a tuple, or any sequence of members, as a mask; absent or None leaves it. */
bool to_mask(enum_t which, PyObject *value, char const *name, std::uint64_t &out) noexcept;

/** Which surfaces a call keeps; a `uform.Outputs`. */
enum outputs_t : unsigned { embeddings_k = 1, states_k = 2, token_vectors_k = 4 };
bool to_outputs(PyObject *value, unsigned &out) noexcept;

} // namespace binding
