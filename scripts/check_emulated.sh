#!/usr/bin/env bash
# Does the serial class give the same bits on other processors? Cross-compiles it and runs it under emulation.
# Usage: scripts/check_emulated.sh     installs the cross compiler and the emulator where apt has them
set -euo pipefail

cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."

output=build/emulated
mkdir -p "$output"
if ! command -v aarch64-linux-gnu-g++ >/dev/null || ! command -v qemu-aarch64-static >/dev/null; then
    scripts/install.sh g++-aarch64-linux-gnu qemu-user-static || {
        printf 'check_emulated: SKIPPED emulated aarch64: no cross compiler or no emulator to be had\n' >&2
        exit 0
    }
fi
# Two levels of optimization, since the promise must not hang on what a compiler does with it.
for level in -O0 -O3; do
    aarch64-linux-gnu-g++ -std=c++20 "$level" -ffp-contract=off -static -Ic -Iinclude -Isrc \
        test/emulated/serial_bits.cpp src/encoder/serial.cpp src/utilities/lane.cpp src/utilities/status.cpp -o "$output/serial_bits"
    printf 'aarch64 %s: ' "$level"
    qemu-aarch64-static "$output/serial_bits"
done
