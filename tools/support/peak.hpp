/**
 *  @file peak.hpp
 *  @brief The most operations per second that a run's threads could do, to tell its share of.
 */
#pragma once
#include <cstddef>

#include <uform/types.h>

namespace uform::tools {

/** Of so many threads computing at once, in some twenty milliseconds; zero where the class has no loop to measure by.
 *  Zeros ask for what an executor takes: the machine's class, and its threads. */
double measure_peak(uform_cpu_class_t cpu_class, std::size_t threads);

} // namespace uform::tools
