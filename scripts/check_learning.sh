#!/usr/bin/env bash
# Does training learn? 300 steps of nano at 32 pairs on the committed sample must find, over its 500 held-out
# paragraphs, R@1 >= .55 and R@10 >= .82 (chance: .002 and .02), for each of three seeds. About a minute a seed.
# Usage: scripts/check_learning.sh     after a build of the release preset
set -euo pipefail

cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."

binaries=build/release/bin
output=build/learning
mkdir -p "$output"

judge() { # judge SEED: reads the figures of uform_eval
    python3 -c '
import json, sys
found = json.load(sys.stdin)["forward"]
first, tenth = found["recall@1"], found["recall@10"]
learned = first >= 0.55 and tenth >= 0.82
print(f"seed {sys.argv[1]}: R@1 {first:.3f} (at least .55), R@10 {tenth:.3f} (at least .82):",
      "learned" if learned else "NOT LEARNED")
sys.exit(0 if learned else 1)' "$1"
}

failures=0
for seed in 1 2 3; do
    checkpoint=$output/seed-$seed.safetensors
    "$binaries/uform_base" --hidden 128 --depth 4 --steps 300 --batch-pairs 32 --seed "$seed" \
        --mixture scripts/mixtures/sample_bitext.json --output "$checkpoint" --log "$output/seed-$seed.jsonl" </dev/null
    "$binaries/uform_eval" "$checkpoint" --pairs scripts/data/sample/test.jsonl --bytes 192 --json </dev/null |
        judge "$seed" || failures=$((failures + 1))
done
[ "$failures" -eq 0 ] || {
    printf 'check_learning: %d of 3 seeds did not learn\n' "$failures" >&2
    exit 1
}
