#!/usr/bin/env bash
# The classes of AArch64 and the serial class's bits there: cross-compiles test/emulated/ and runs it under emulation.
# Usage: scripts/check_emulated.sh     installs the cross compiler and the emulator where apt has them
set -euo pipefail

cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."

skip() {
    printf '\ncheck_emulated: SKIPPED %s: neon, aws-graviton3 and the bits of serial on AArch64 are unchecked\n\n' "$1" >&2
    exit 0
}

command -v aarch64-linux-gnu-g++ >/dev/null || scripts/install.sh g++-aarch64-linux-gnu ||
    skip 'for want of a cross compiler, g++-aarch64-linux-gnu'
command -v qemu-aarch64-static >/dev/null || scripts/install.sh qemu-user-static ||
    skip 'for want of an emulator, qemu-user-static'
[ -d /usr/src/googletest ] || scripts/install.sh googletest || skip "for want of GoogleTest's source, googletest"

printf '\n== Building: aarch64, to be emulated\n'
cmake -S test/emulated -B build/emulated -G Ninja --toolchain "$PWD/cmake/aarch64-linux-gnu.cmake" >/dev/null
cmake --build build/emulated
printf '\n== Testing: aarch64, emulated\n'
ctest --test-dir build/emulated --no-tests=error --output-on-failure --parallel "$(nproc)" </dev/null
