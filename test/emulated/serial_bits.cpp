/**
 *  @file serial_bits.cpp
 *  @brief The serial class against its golden hash, on a processor that this machine only emulates.
 *
 *  Compiled by scripts/check_emulated.sh with another processor's compiler and two sources of the engine, no framework.
 */
#include "../model_fixture.hpp"

int main() {
    using namespace uform;
    test::model_fixture_t<kit_table_t> const model(serial_table(), {128, 2, 24}, 32);
    lane_t lane;
    std::uint64_t const hash = test::hash_of(model.encode(lane, test::serial_texts()));
    std::printf("serial bits: %016llx, expected %016llx\n", (unsigned long long)hash,
                (unsigned long long)test::serial_hash_k);
    return hash == test::serial_hash_k ? 0 : 1;
}
