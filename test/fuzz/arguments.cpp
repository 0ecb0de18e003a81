/**
 *  @file arguments.cpp
 *  @brief libFuzzer's entry to the C ABI: bytes become a few calls with hostile argument structs, each judged by what the
 *  headers promise, and after them all the executor still answers the same bits.
 *
 *  Pointers tell the truth about the memory behind them, as only a caller can; everything else is attacked. A call that
 *  was not spoilt must succeed, so an input finds refusals that are too eager as well as those that are missing.
 */
#include "arguments/world.hpp"

namespace {

using namespace uform_fuzz;

// The verbs that do the most come twice.
constexpr attack_t attacks_k[] = {
    attack_text_encode, attack_trainer_step, attack_text_encode,      attack_trainer_step, attack_choose,
    attack_rerank,      attack_trainer_init, attack_load_buffer,      attack_load,         attack_trainer_save,
    attack_describe,    attack_arena,        attack_executors,        attack_drain,        attack_names,
    attack_media,       attack_mesh,         attack_absent_executors, attack_load_vram,
};
constexpr std::size_t calls_limit_k = 8; // an input should take about a millisecond

} // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const *data, std::size_t size) {
    static world_t world;
    world.costly_left = 1, world.used_executor = false;
    cursor_t cursor(data, size);
    for (std::size_t call = 0; call < calls_limit_k && !cursor.empty(); ++call)
        attacks_k[cursor.below(std::size(attacks_k))](cursor, world);
    world.probe();
    return 0;
}

// Sizes that no machine has are asked for on purpose: memory that is out must be a NULL here too, not a report.
extern "C" __attribute__((visibility("default"))) char const *__asan_default_options() {
    return "allocator_may_return_null=1:max_allocation_size_mb=512";
}
