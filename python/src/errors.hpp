/**
 *  @file errors.hpp
 *  @brief Statuses as exceptions: a class per status under `uform.Error`, each with the built-in that names its fault.
 */
#pragma once
#include "python.hpp"

namespace binding {

bool add_errors(PyObject *module) noexcept;

/** Raises what a final outcome tells. Answers NULL, for `return`. */
PyObject *raise(uform_outcome_t const &outcome) noexcept;
/** Raises a fault found before the library was asked; `item` at fault where one is. Answers NULL. */
PyObject *raise(uform_status_t status, char const *format, ...) noexcept;
PyObject *raise_item(uform_status_t status, std::size_t item, char const *format, ...) noexcept;
/** Tells the exception that is set which item it is about: a TypeError becomes `uform.InvalidTypeError`, which is both
 *  that and a `uform.Error`; others that are none of ours stay. Answers false. */
bool blame_item(std::size_t item) noexcept;

/** The exception that is set, as one object with its traceback; clears it. NULL where none is. */
PyObject *take_exception() noexcept;

} // namespace binding
