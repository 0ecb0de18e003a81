#!/usr/bin/env bash
# Spin proves a model of verification/, and finds the fault that the model is seeded with under -DFAULT.
# Usage: scripts/check_model.sh MODEL.pml    77: spin or a C compiler is not there
set -euo pipefail

model=$(realpath -- "$1")
for program in spin cc; do
    command -v "$program" >/dev/null || {
        printf 'check_model: SKIPPED, %s is not installed (Debian: spin, gcc)\n' "$program"
        exit 77
    }
done
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd -- "$folder"

# run NAME "SPIN OPTIONS" "CC OPTIONS" "VERIFIER OPTIONS": prints the verifier's report, refusing one that was cut short.
run() {
    # shellcheck disable=SC2086
    spin -a $2 "$model" >"$1.spin" 2>&1 || { cat "$1.spin" >&2; exit 1; }
    # shellcheck disable=SC2086
    cc -O2 -w -DVECTORSZ=2048 $3 -o "$1" pan.c
    # shellcheck disable=SC2086
    "./$1" -m1000000 $4 >"$1.out" 2>&1 || true
    grep -q 'errors: ' "$1.out" || { cat "$1.out" >&2; exit 1; }
    ! grep -qE 'max search depth too small|out of memory' "$1.out" || { cat "$1.out" >&2; exit 1; }
}
errors() { sed -n 's/.*errors: \([0-9]*\).*/\1/p' "$1.out"; }

run safety '' -DNOCLAIM ''
[ "$(errors safety)" -eq 0 ] || { cat safety.out >&2; exit 1; }
printf '%s: %s states, no assertion fails and nothing is stuck\n' "$(basename "$model")" \
    "$(sed -n 's/ *\([0-9]*\) states, stored.*/\1/p' safety.out)"
for claim in $(sed -n 's/^ltl \([a-z_]*\).*/\1/p' "$model"); do
    run "$claim" '' '' "-a -f -N $claim"
    [ "$(errors "$claim")" -eq 0 ] || { cat "$claim.out" >&2; exit 1; }
    printf '  %s holds under weak fairness\n' "$claim"
done
run fault -DFAULT -DNOCLAIM ''
[ "$(errors fault)" -gt 0 ] || { printf 'check_model: the seeded fault of %s is not found\n' "$model" >&2; exit 1; }
printf '  the seeded fault is found: %s\n' "$(grep -m 1 '^pan:1:' fault.out)"
