/**
 *  @file schedule_unit.cpp
 *  @brief The learning rate by hand: warm-up, peak, half way, floor, and the defaults of zero fields.
 */
#include <gtest/gtest.h>

#include <cmath>

#include <uform/train/schedule.hpp>

namespace uform {
namespace {

TEST(schedule_unit, by_hand) {
    schedule_t const schedule {1.0f, 0.2f, 10, 110};
    EXPECT_FLOAT_EQ(learning_rate_at(schedule, 1), 0.1f);
    EXPECT_FLOAT_EQ(learning_rate_at(schedule, 10), 1.0f);
    EXPECT_FLOAT_EQ(learning_rate_at(schedule, 35), 0.2f + 0.8f * 0.8535533906f); // a quarter: (1 + sqrt(1/2)) / 2
    EXPECT_FLOAT_EQ(learning_rate_at(schedule, 60), 0.6f);
    EXPECT_FLOAT_EQ(learning_rate_at(schedule, 110), 0.2f);
    EXPECT_FLOAT_EQ(learning_rate_at(schedule, 5000), 0.2f);
}

TEST(schedule_unit, no_warmup) {
    schedule_t const schedule = derive_schedule({1.0f, 0.5f, 0, 4});
    EXPECT_EQ(schedule.warmup_steps, 0u);
    EXPECT_FLOAT_EQ(learning_rate_at(schedule, 2), 0.75f);
    EXPECT_FLOAT_EQ(learning_rate_at(derive_schedule({1.0f, 0.5f, 0, 1}), 1), 0.5f);
}

TEST(schedule_unit, defaults) {
    schedule_t const derived = derive_schedule({0, 0, 0, 1000});
    EXPECT_EQ(derived.learning_rate, 5e-4f);
    EXPECT_EQ(derived.min_learning_rate, 1e-5f);
    EXPECT_EQ(derived.warmup_steps, 100u);
    EXPECT_EQ(derive_schedule({0, 0, 0, 100000}).warmup_steps, 400u);
    EXPECT_EQ(derive_schedule({1e-6f, 0, 0, 10}).min_learning_rate, 1e-6f);
    EXPECT_FALSE(validate_schedule(derived));
}

TEST(schedule_unit, refusals) {
    EXPECT_STREQ(validate_schedule(derive_schedule({})).message, "schedule.steps must not be zero");
    for (float bad : {-1.0f, float(NAN), float(INFINITY)}) {
        EXPECT_STREQ(validate_schedule(derive_schedule({bad, 1e-5f, 1, 10})).message,
                     "schedule.learning_rate must be finite and not negative");
        EXPECT_STREQ(validate_schedule(derive_schedule({1, bad == INFINITY ? 2 : bad, 1, 10})).message,
                     "schedule.min_learning_rate must lie between 0 and learning_rate");
    }
    EXPECT_STREQ(validate_schedule({1, 0, 11, 10}).message, "schedule.warmup_steps must not exceed schedule.steps");
}

} // namespace
} // namespace uform
