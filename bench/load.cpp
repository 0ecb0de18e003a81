/**
 *  @file load.cpp
 *  @brief Peak memory and time of a load, against the file's size plus the packed size.
 *
 *  Each load runs in a child of its own, so that the kernel's high-water mark is that load's alone.
 */
#include <fstream>

#include <sys/wait.h>

#include "towers.hpp"

namespace {

using namespace bench;

std::size_t high_water_bytes() {
    std::ifstream status("/proc/self/status");
    std::string line;
    while (std::getline(status, line))
        if (line.rfind("VmHWM:", 0) == 0) return std::stoull(line.substr(6)) * 1024;
    return 0;
}

std::string checkpoint_of(std::size_t hidden, std::size_t depth) {
    std::string const path = "/tmp/uform-bench-load-" + std::to_string(::getpid()) + ".safetensors";
    uform_outcome_t outcome;
    uform_trainer_t trainer = trainer_of(nullptr, hidden, depth, 4096);
    uform_trainer_save_t save {};
    save.trainer = trainer, save.outcome = &outcome, save.path = view(path);
    uform_trainer_save(&save);
    demand(outcome, "uform_trainer_save");
    uform_trainer_free(trainer);
    return path;
}

/** In a child: loads, checks the description, and answers how far the peak lies above file and packed size. */
int load(std::string const &path, std::string const &name, std::size_t hidden, uform_scalar_t quantization) {
    std::size_t const before = high_water_bytes();
    uform_executor_t executor = executor_of(2);
    uform_model_t model = nullptr;
    uform_outcome_t outcome;
    uform_model_load_ram_t call {};
    call.model = &model, call.executor = executor, call.outcome = &outcome, call.path = view(path);
    call.quantization = quantization;
    double const start = wall_now();
    uform_model_load_ram(&call);
    double const seconds = wall_now() - start;
    demand(outcome, "uform_model_load_ram");
    std::size_t const peak = high_water_bytes() - before;
    uform_model_description_t description {};
    uform_model_describe_t describe {};
    describe.model = model, describe.outcome = &outcome, describe.description = &description;
    uform_model_describe(&describe);
    if (description.dimensions != hidden) return std::fprintf(stderr, "%s loads as another model\n", name.c_str()), 1;
    std::ifstream file(path, std::ios::ate | std::ios::binary);
    double const mebi = 1.0 / (1 << 20), size = double(file.tellg()) * mebi;
    double const packed = double(description.memory_usage) * mebi;
    std::printf("%-10s %10.1f %10.1f %10.1f %+12.1f %10.3f\n", name.c_str(), size, packed, double(peak) * mebi,
                double(peak) * mebi - size - packed, seconds);
    return double(peak) * mebi - size - packed < 16 ? 0 : 1;
}

} // namespace

int main() {
    std::printf("%-10s %10s %10s %10s %12s %10s\n", "model", "file MiB", "packed MiB", "peak MiB", "peak - both",
                "seconds");
    struct tier_t {
        char const *name;
        std::size_t hidden, depth;
    };
    int failed = 0;
    for (tier_t const tier : {tier_t {"nano", 128, 4}, {"micro", 256, 6}, {"tiny", 512, 12}}) {
        std::string path;
        std::fflush(stdout);
        int const writer = ::fork(); // the trainer's memory must not count
        if (writer == 0) ::_exit(checkpoint_of(tier.hidden, tier.depth).empty());
        int status = 0;
        ::waitpid(writer, &status, 0);
        path = "/tmp/uform-bench-load-" + std::to_string(writer) + ".safetensors";
        for (bool const is_e4m3 : {false, true}) {
            int const child = ::fork();
            if (child == 0) {
                int const code = load(path, std::string(tier.name) + (is_e4m3 ? " e4m3" : ""), tier.hidden,
                                      is_e4m3 ? uform_scalar_e4m3_k : uform_scalar_bf16_k);
                std::fflush(stdout);
                ::_exit(code);
            }
            ::waitpid(child, &status, 0);
            failed |= status;
        }
        std::remove(path.c_str());
    }
    return failed ? 1 : 0;
}
