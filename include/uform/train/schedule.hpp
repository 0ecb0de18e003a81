/**
 *  @file schedule.hpp
 *  @brief The learning rate of a step: a linear warm-up to the peak, then a cosine to the floor (Loshchilov 2017).
 *
 *  Zero fields derive the defaults named. A zero floor derives 1e-5, not zero: at a peak of 3e-3 the cosine then ends
 *  at a three-hundredth of the peak, close enough to the cosine to zero that the measured recipe uses.
 */
#pragma once
#include <cmath>
#include <cstddef>

#include <algorithm>

#include <uform/utilities/elementary.hpp>
#include <uform/utilities/status.hpp>

namespace uform {

struct schedule_t {
    float learning_rate = 0;      // the peak; zero derives 5e-4
    float min_learning_rate = 0;  // the floor; zero derives 1e-5, or the peak where that is lower
    std::size_t warmup_steps = 0; // zero derives a tenth of `steps`, at most 400
    std::size_t steps = 0;        // of the run across resumes; zero is refused
};

inline schedule_t derive_schedule(schedule_t schedule) noexcept {
    if (schedule.learning_rate == 0) schedule.learning_rate = 5e-4f;
    if (schedule.min_learning_rate == 0) schedule.min_learning_rate = std::min(1e-5f, schedule.learning_rate);
    if (schedule.warmup_steps == 0) schedule.warmup_steps = std::min<std::size_t>(schedule.steps / 10, 400);
    return schedule;
}

/** Asked after `derive_schedule`. */
inline failure_t validate_schedule(schedule_t const &schedule) noexcept {
    if (schedule.steps == 0) return fail(uform_status_invalid_argument_k, "schedule.steps must not be zero");
    if (!std::isfinite(schedule.learning_rate) || schedule.learning_rate < 0)
        return fail(uform_status_invalid_argument_k, "schedule.learning_rate must be finite and not negative");
    if (!(schedule.min_learning_rate >= 0 && schedule.min_learning_rate <= schedule.learning_rate))
        return fail(uform_status_invalid_argument_k, "schedule.min_learning_rate must lie between 0 and learning_rate");
    if (schedule.warmup_steps > schedule.steps)
        return fail(uform_status_invalid_argument_k, "schedule.warmup_steps must not exceed schedule.steps");
    return {};
}

/** Of a derived schedule; steps count from one, the last one of the run and those past it take the floor. */
inline float learning_rate_at(schedule_t const &schedule, std::size_t step) noexcept {
    double const peak = schedule.learning_rate, floor = schedule.min_learning_rate;
    if (step <= schedule.warmup_steps) return float(peak * double(step) / double(schedule.warmup_steps));
    if (step >= schedule.steps) return schedule.min_learning_rate;
    double const progress = double(step - schedule.warmup_steps) / double(schedule.steps - schedule.warmup_steps);
    return float(floor + (peak - floor) * 0.5 * (1 + cos_of(3.14159265358979323846 * progress)));
}

} // namespace uform
