/**
 *  @file elementary_unit.cpp
 *  @brief exp, log, sin, cos against the C library's long double, whose 64-bit significand is 11 bits finer than ours.
 */
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>

#include <uform/utilities/elementary.hpp>

namespace {

constexpr double epsilon = std::numeric_limits<double>::epsilon();
constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr std::size_t samples = 200'000;

/** Largest |ours - reference| / |reference| over a grid of irregular step. */
template <typename ours_, typename reference_>
double worst_relative(double first, double last, ours_ ours, reference_ reference) {
    double worst = 0.0;
    for (std::size_t i = 0; i < samples; ++i) {
        double const x = first + (last - first) * (double(i) + 0.5 * std::fmod(double(i) * 0.618, 1.0)) / samples;
        long double const expected = reference((long double)x);
        if (expected == 0.0L) continue;
        worst = std::max(worst, double(std::fabs(((long double)ours(x) - expected) / expected)));
    }
    return worst;
}

} // namespace

TEST(elementary, exponential_is_within_one_ulp) {
    auto const ours = [](double x) { return uform::exp_of(x); };
    auto const reference = [](long double x) { return std::exp(x); };
    EXPECT_LT(worst_relative(-708.0, 709.0, ours, reference), epsilon);
    EXPECT_LT(worst_relative(-1.0, 1.0, ours, reference), epsilon);
}

TEST(elementary, exponential_at_its_edges) {
    EXPECT_EQ(uform::exp_of(0.0), 1.0);
    EXPECT_EQ(uform::exp_of(-746.0), 0.0);
    EXPECT_EQ(uform::exp_of(-infinity), 0.0);
    EXPECT_EQ(uform::exp_of(710.0), infinity);
    EXPECT_EQ(uform::exp_of(infinity), infinity);
    EXPECT_TRUE(std::isnan(uform::exp_of(std::nan(""))));
    EXPECT_NEAR(uform::exp_of(-740.0) / std::numeric_limits<double>::denorm_min(), 85.0, 1.0); // 4.2e-322
    EXPECT_EQ(uform::exp_of(-104.0f), 0.0f);
    EXPECT_EQ(uform::exp_of(89.0f), std::numeric_limits<float>::infinity());
}

TEST(elementary, logarithm_is_within_one_ulp) {
    auto const ours = [](double x) { return uform::log_of(x); };
    auto const reference = [](long double x) { return std::log(x); };
    EXPECT_LT(worst_relative(1e-3, 0.999, ours, reference), epsilon);
    EXPECT_LT(worst_relative(1.001, 1e3, ours, reference), epsilon);
    EXPECT_LT(worst_relative(0.99, 1.01, ours, reference), epsilon);
    EXPECT_LT(worst_relative(1e300, 1.7e308, ours, reference), epsilon);
    EXPECT_LT(worst_relative(5e-324, 2e-308, ours, reference), epsilon);
}

TEST(elementary, logarithm_at_its_edges) {
    EXPECT_EQ(uform::log_of(1.0), 0.0);
    EXPECT_EQ(uform::log_of(0.0), -infinity);
    EXPECT_EQ(uform::log_of(infinity), infinity);
    EXPECT_TRUE(std::isnan(uform::log_of(-1.0)));
    EXPECT_TRUE(std::isnan(uform::log_of(std::nan(""))));
}

TEST(elementary, logarithm_of_one_plus_keeps_small_arguments) {
    auto const ours = [](double x) { return uform::log1p_of(x); };
    auto const reference = [](long double x) { return std::log1p(x); };
    EXPECT_LT(worst_relative(1e-18, 1e-12, ours, reference), 3 * epsilon);
    EXPECT_LT(worst_relative(-0.5, 3.0, ours, reference), 3 * epsilon);
    EXPECT_EQ(uform::log1p_of(infinity), infinity);
}

// Rotary angles reach 4096 tokens, and 16 per second over a clip: 65,536 radians; the reduction is good for 2^20.
TEST(elementary, sine_and_cosine_are_accurate_over_rotary_angles) {
    for (double const limit : {0.8, 10.0, 65'536.0, 1048'575.0}) {
        double worst = 0.0;
        for (std::size_t i = 0; i < samples; ++i) {
            double const x = limit * (2.0 * (double(i) + std::fmod(double(i) * 0.618, 1.0)) / samples - 1.0);
            worst = std::max(worst, double(std::fabs((long double)uform::sin_of(x) - std::sin((long double)x))));
            worst = std::max(worst, double(std::fabs((long double)uform::cos_of(x) - std::cos((long double)x))));
        }
        EXPECT_LT(worst, epsilon) << "up to " << limit;
    }
    EXPECT_TRUE(std::isnan(uform::sin_of(1e7)));
    EXPECT_TRUE(std::isnan(uform::cos_of(infinity)));
}

// 355 is the integer nearest to a multiple of pi below 10^4, where the reduction cancels most.
TEST(elementary, sine_near_multiples_of_pi_is_relatively_accurate) {
    for (double const x : {355.0, 710.0, 103'993.0, 104'348.0, 208'341.0, 312'689.0, 833'719.0})
        EXPECT_NEAR(uform::sin_of(x) / double(std::sin((long double)x)), 1.0, 2 * epsilon) << x;
}

TEST(elementary, floats_are_the_nearest_float) {
    std::size_t wrong = 0;
    for (std::uint32_t i = 0; i < samples; ++i) {
        float const x = -40.0f + 80.0f * float(i) / float(samples);
        wrong += uform::exp_of(x) != float(std::exp((long double)x));
        wrong += uform::sin_of(x) != float(std::sin((long double)x));
        wrong += uform::cos_of(x) != float(std::cos((long double)x));
        if (x > 0.0f) wrong += uform::log_of(x) != float(std::log((long double)x));
    }
    EXPECT_LE(wrong, 1u);
}

TEST(elementary, softplus_and_sigmoid_do_not_overflow) {
    EXPECT_EQ(uform::softplus_of(1000.0), 1000.0);
    EXPECT_EQ(uform::softplus_of(-1000.0), 0.0);
    EXPECT_NEAR(uform::softplus_of(0.0), 0.69314718055994531, epsilon);
    EXPECT_EQ(uform::sigmoid_of(1000.0), 1.0);
    EXPECT_EQ(uform::sigmoid_of(-1000.0), 0.0);
    EXPECT_EQ(uform::sigmoid_of(0.0f), 0.5f);
    // The derivative by complex step: softplus' is the sigmoid.
    double const h = 1e-50;
    for (double const x : {-30.0, -2.0, 0.5, 30.0}) {
        std::complex<double> const stepped = uform::softplus_of(std::complex<double>(x, h));
        EXPECT_NEAR(stepped.imag() / h / uform::sigmoid_of(x), 1.0, 4 * epsilon) << x;
    }
}

// Literals of this implementation, so that a machine whose double arithmetic differs is found.
TEST(elementary, bits_are_the_same_on_every_machine) {
    std::uint64_t hash = 14695981039346656037u;
    auto const add = [&](double x) { hash = (hash ^ std::bit_cast<std::uint64_t>(x)) * 1099511628211u; };
    for (int i = 1; i < 1000; ++i) {
        double const x = double(i) * 0.37;
        add(uform::exp_of(x)), add(uform::exp_of(-x)), add(uform::log_of(x)), add(uform::sin_of(x)),
            add(uform::cos_of(x));
    }
    EXPECT_EQ(hash, 7379666911061896424u);
}
