#!/usr/bin/env bash
# Do the losses do what they are for? On the committed sample, each for three seeds, four minutes in all:
#   masked text falls under the entropy of the sample's bytes, and under what a model could reach that sees of a text
#   only the byte at the covered position (.8 of them MASK): whoever gets there reads the bytes around it;
#   the coding rate raises the effective rank of a contrastive batch, against the same run without it.
# Usage: scripts/check_convergence.sh     after a build of the release preset
set -euo pipefail

cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."

mixture=scripts/mixtures/sample_bitext.json
output=build/convergence
mkdir -p "$output"

train() { # train NAME MIXTURE OPTIONS: leaves the log $output/NAME.jsonl
    local name=$1 mixture=$2
    shift 2
    build/release/bin/uform_base --hidden 128 --depth 2 --batch-pairs 32 --mixture "$mixture" --data scripts/mixtures \
        --output "$output/$name.safetensors" --log "$output/$name.jsonl" "$@" </dev/null
}

judge() { # judge masked SEED LOG | judge rank SEED WITHOUT WITH: of the last steps' mean
    python3 - "$@" <<'PYTHON'
import collections, json, math, sys

def mean(log, field, steps):
    values = [line[field] for line in map(json.loads, open(log)) if line["event"] == "step"]
    return sum(values[-steps:]) / steps

def entropies():
    """In nats: of a byte, and of a covered byte where the one shown there is known."""
    counts = collections.Counter()
    for line in open("scripts/data/sample/train.jsonl"):
        counts.update(json.loads(line)["document"].encode()[:128])  # as much as the mixture trains on
    share = {byte: count / counts.total() for byte, count in counts.items()}
    surprise = lambda probability: -probability * math.log(probability)
    alone = sum(map(surprise, share.values()))
    # Without a MASK it is shown as it is in half of the cases, else as any of 256.
    shown = [share.get(byte, 0) / 2 + 1 / 512 for byte in range(256)]
    both = [share[byte] * ((byte == other) / 2 + 1 / 512) for byte in share for other in range(256)]
    known = sum(map(surprise, both)) - sum(map(surprise, shown))  # H(byte | shown) = H(byte, shown) - H(shown)
    return alone, .8 * alone + .2 * known

test, seed, *logs = sys.argv[1:]
if test == "masked":
    alone, blind = entropies()
    loss = mean(logs[0], "masked_text", 50)
    passed = loss < min(alone, blind)
    print(f"seed {seed}: masked text {loss:.3f} nats, bytes have {alone:.3f}, without context {blind:.3f}:",
          "reads context" if passed else "READS NO CONTEXT")
else:
    without, with_rate = (mean(log, "effective_rank", 20) for log in logs)
    passed = with_rate > without
    print(f"seed {seed}: effective rank {without:.2f} without coding rate, {with_rate:.2f} with it:",
          "raised" if passed else "NOT RAISED")
sys.exit(not passed)
PYTHON
}

sed 's/"coding_rate_weight": [0-9.]*/"coding_rate_weight": 0/' "$mixture" >"$output/without.json"
grep -q '"coding_rate_weight": 0,' "$output/without.json" # or both runs would be one

failures=0
for seed in 1 2 3; do
    train "masked-$seed" "$mixture" --objective masked --steps 300 --seed "$seed"
    judge masked "$seed" "$output/masked-$seed.jsonl" || failures=$((failures + 1))
    train "without-$seed" "$output/without.json" --steps 100 --seed "$seed"
    train "with-$seed" "$mixture" --steps 100 --seed "$seed"
    judge rank "$seed" "$output/without-$seed.jsonl" "$output/with-$seed.jsonl" || failures=$((failures + 1))
done
[ "$failures" -eq 0 ] || {
    printf 'check_convergence: %d of 6 checks failed\n' "$failures" >&2
    exit 1
}
