/**
 *  @file peak.cpp
 *  @brief Loops of registers on all threads at once: cores that share power or a pipe reach less together.
 */
#include <algorithm>
#include <thread>
#include <vector>

#include "support/peak.hpp"
#include "support/peak_loops.hpp"

namespace uform::tools {

double measure_peak(uform_cpu_class_t cpu_class, std::size_t threads) {
    constexpr int rounds_k = 12; // the best counts: others are of a core that something else slowed
    uform_capabilities_t const machine = uform_capabilities();
    peak::loop_t const loop = peak::loop_of(cpu_class == uform_cpu_class_derived_k ? machine.cpu_class : cpu_class);
    if (!loop.run) return 0;
    std::vector<double> best(threads ? threads : machine.threads);
    std::vector<std::thread> running;
    for (double &each : best)
        running.emplace_back([&loop, &each] {
            for (int round = 0; round < rounds_k; ++round) each = std::max(each, peak::operations_per_second(loop));
        });
    for (std::thread &each : running) each.join();
    double sum = 0;
    for (double const each : best) sum += each;
    return sum;
}

} // namespace uform::tools
