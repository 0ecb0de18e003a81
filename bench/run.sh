#!/usr/bin/env bash
# The benchmark table of this project: builds the programs, runs them in turn with every peer that can be had, and prints
# medians of three runs; bench/README.md says what the numbers mean.
# Usage: bench/run.sh [--quick] [--rounds COUNT] [--json FILE]    --quick: one run of one round, to see that it works
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."

runs=3 rounds=3 json=
while [ $# -gt 0 ]; do
    case $1 in
    --quick) runs=1 rounds=1 ;;
    --rounds) rounds=${2:?--rounds needs a count} && shift ;;
    --json) json=${2:?--json needs a file} && shift ;;
    *) sed -n '4s/^# //p' "$0" >&2 && exit 64 ;;
    esac
    shift
done

# These hide OpenBLAS's fast kernels.
unset OPENBLAS_CORETYPE OPENBLAS_L2_SIZE
results=$(mktemp -d)
trap 'rm -rf "$results"' EXIT
python=/usr/bin/python3 # the one that Debian's packages install for

# ---- what there is: the programs, and of the peers those whose packages install ----
skipped=()
has_package() { scripts/install.sh "$1" >"$results/install" 2>&1 || { skipped+=("$2: $(tail -n 1 "$results/install")") && false; }; }
has_onnxruntime() {
    build/onnx/bin/python -c 'import onnx, onnxruntime' 2>/dev/null && return
    { "$python" -m venv build/onnx || python3 -m venv build/onnx; } >"$results/install" 2>&1 &&
        build/onnx/bin/pip install --quiet onnx onnxruntime >>"$results/install" 2>&1 ||
        { skipped+=("onnxruntime: $(tail -n 1 "$results/install")") && false; }
}
targets=(bench_product bench_attention bench_encode bench_train) products=() towers=() steps=()
! has_package libdnnl-dev oneDNN || { targets+=(peer_onednn) && products+=(--peer build/release/bin/peer_onednn); }
! has_package libopenblas-dev OpenBLAS || { targets+=(peer_openblas) && products+=(--peer build/release/bin/peer_openblas); }
! has_package python3-torch PyTorch || steps+=(--peer "$python bench/peers/torch_tower.py")
towers+=("${steps[@]}")
! has_onnxruntime || towers+=(--peer "build/onnx/bin/python bench/peers/onnx_tower.py")
{ cmake --preset release && cmake --build --preset release --target "${targets[@]}"; } >"$results/build" 2>&1 ||
    { tail -n 30 "$results/build" >&2 && exit 1; }

# ---- the runs ----
supports() { grep -qw -- "$1" /proc/cpuinfo; }
classes=()
! supports avx512_bf16 || classes+=(genoa)
! supports avx512dq || classes+=(skylake)
! supports avx2 || classes+=(haswell)
[ ${#classes[@]} -gt 0 ] || classes=(serial)

run() { # PROGRAM NAME ARGUMENTS: one program, whose lines are kept for the table
    local program=$1 name=$2
    shift 2
    build/release/bin/bench_"$program" --rounds "$rounds" --json "$results/$name.json" "$@"
}
for ((i = 1; i <= runs; ++i)); do
    printf '\nrun %d of %d, %s\n' "$i" "$runs" "$(uptime)"
    run product "product.$i" --class "${classes[0]}" --only table "${products[@]}"
    run attention "attention.$i" --class "${classes[0]}"
    run encode "encode.$i" --class "${classes[0]}" --only table "${towers[@]}"
    run train "train.$i" --class "${classes[0]}" --only table "${steps[@]}"
    for class in "${classes[@]:1}"; do
        run product "product.$class.$i" --class "$class" --only classes
        run encode "encode.$class.$i" --class "$class" --only classes
    done
done

printf '\n'
"$python" bench/table.py ${json:+--json "$json"} "$results"/*.json
for reason in "${skipped[@]}"; do printf 'SKIPPED %s\n' "$reason"; done
