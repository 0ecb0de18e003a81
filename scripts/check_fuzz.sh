#!/usr/bin/env bash
# Replays the committed corpus and then fuzzes the checkpoint reader under ASan and UBSan for a while.
# Usage: scripts/check_fuzz.sh [SECONDS]     60 by default; installs clang where apt has it
set -euo pipefail

cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."

seconds=${1:-60}
if ! command -v clang++-22 >/dev/null; then
    scripts/install.sh clang-22 libclang-rt-22-dev || {
        printf 'check_fuzz: SKIPPED fuzzing: no clang to be had\n' >&2
        exit 0
    }
fi
cmake -S . -B build/fuzz -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_C_COMPILER=clang-22 -DCMAKE_CXX_COMPILER=clang++-22 \
    -DUFORM_BUILD_FUZZ=ON -DUFORM_SANITIZE=fuzzer-no-link,address,undefined -DUFORM_BUILD_TESTS=OFF -DUFORM_BUILD_BENCH=OFF -DUFORM_BUILD_TOOLS=OFF >/dev/null
cmake --build build/fuzz
mkdir -p build/fuzz/corpus
build/fuzz/test/fuzz/fuzz_safetensors -runs=0 test/fuzz/corpus
build/fuzz/test/fuzz/fuzz_safetensors -max_total_time="$seconds" -max_len=65536 build/fuzz/corpus test/fuzz/corpus
