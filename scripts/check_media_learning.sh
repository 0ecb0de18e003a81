#!/usr/bin/env bash
# Does training on media learn? Nano models must find captions of what no training picture showed, and pictures of such
# captions, among 64 of each: R@1 >= .5 of shapes, .3 of sounds and of moves, either way (chance: .016), for each of three
# seeds; measured: .85 to .98 of shapes, .98 to 1.0 of sounds, .86 to .92 of moves. Data are drawn here; sounds need
# espeak-ng, moves ffmpeg.
# Usage: scripts/check_media_learning.sh [--short] [shapes|sounds|moves ...]     after a build of the release preset
#   --short    one seed of shapes, in under a minute on two cores
set -euo pipefail

cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."

binaries=build/release/bin
output=build/media_learning
mkdir -p "$output"

seeds=(1 2 3) kinds=()
for argument in "$@"; do
    case $argument in
    --short) seeds=(1) kinds=(shapes) short=yes ;;
    shapes | sounds | moves) kinds+=("$argument") ;;
    *) sed -n '6,7s/^# //p' "$0" >&2 && exit 64 ;;
    esac
done
[ ${#kinds[@]} -gt 0 ] || kinds=(shapes sounds moves)

# NAME: media field, caption field, steps, least R@1
declare -A media=([shapes]=image [sounds]=audio [moves]=video)
declare -A captions=([shapes]=captions [sounds]=caption [moves]=caption)
declare -A steps=([shapes]=400 [sounds]=150 [moves]=300)
declare -A least=([shapes]=0.5 [sounds]=0.3 [moves]=0.3)
[ -z "${short:-}" ] || steps[shapes]=250

judge() { # judge KIND SEED: reads the figures of uform_eval
    python3 -c '
import json, sys
kind, seed, least = sys.argv[1], sys.argv[2], float(sys.argv[3])
found = json.load(sys.stdin)
media, captions = found["forward"]["recall@1"], found["backward"]["recall@1"]
learned = min(media, captions) >= least and found["skipped"] == 0
print(f"{kind}, seed {seed}: R@1 of captions {media:.3f}, of media {captions:.3f} (at least {least}):",
      "learned" if learned else "NOT LEARNED")
sys.exit(0 if learned else 1)' "$1" "$2" "${least[$1]}"
}

failures=0 runs=0
for kind in "${kinds[@]}"; do
    case $kind in
    sounds) command -v espeak-ng >/dev/null || scripts/install.sh espeak-ng ;;
    moves) command -v ffmpeg >/dev/null || scripts/install.sh ffmpeg ;;
    esac
    python3 "scripts/data/$kind.py" "build/data/$kind"
    for seed in "${seeds[@]}"; do
        checkpoint=$output/$kind-$seed.safetensors
        "$binaries/uform_base" --tier nano --steps "${steps[$kind]}" --seed "$seed" --mixture "scripts/mixtures/$kind.json" \
            --output "$checkpoint" --log "$output/$kind-$seed.jsonl" </dev/null
        "$binaries/uform_eval" "$checkpoint" --media "build/data/$kind/test.jsonl" --media-field "${media[$kind]}" \
            --caption-field "${captions[$kind]}" --json </dev/null | judge "$kind" "$seed" || failures=$((failures + 1))
        runs=$((runs + 1))
    done
done
[ "$failures" -eq 0 ] || {
    printf 'check_media_learning: %d of %d runs did not learn\n' "$failures" "$runs" >&2
    exit 1
}
