#!/usr/bin/env bash
# Replays each fuzz target's committed corpus and then fuzzes it under ASan and UBSan for a while.
# Usage: scripts/check_fuzz.sh [SECONDS]     of each target, 60 by default; installs clang where apt has it
# What it finds is kept: new inputs in build/fuzz/corpus, one that breaks a promise in build/fuzz/found.
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

# fuzz TARGET MAX_LEN
fuzz() {
    local program=build/fuzz/test/fuzz/fuzz_$1 committed=test/fuzz/corpus/$1 grown=build/fuzz/corpus/$1
    local log=build/fuzz/$1.log found=build/fuzz/found/$1-
    mkdir -p "$grown" build/fuzz/found
    "$program" -max_total_time="$seconds" -max_len="$2" -len_control=0 -print_final_stats=1 \
        -artifact_prefix="$found" "$grown" "$committed" >"$log" 2>&1 || {
        tail -n 60 "$log" >&2
        printf 'check_fuzz: %s failed; the input is %s\n' "$1" \
            "$(sed -n 's/.*Test unit written to //p' "$log" | tail -n 1)" >&2
        return 1
    }
    printf 'check_fuzz: %s: %s executions, %s\n' "$1" "$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")" \
        "$(sed -n 's/.*\(cov: [0-9]* ft: [0-9]*\).*/\1/p' "$log" | tail -n 1)"
}
fuzz safetensors 65536
fuzz arguments 256
fuzz jpeg 4096
fuzz png 4096
fuzz webp 4096
fuzz audio 8192
fuzz video 4096
