#!/usr/bin/env bash
# The engine and the stub answer thousands of mutated calls alike: status, item, message and counts of each.
# Usage: scripts/check_agreement.sh CONFORMANCE_ENGINE CONFORMANCE_STUB
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for program in "$@"; do
    mkdir -p "$folder/${program##*/}"
    UFORM_CONFORMANCE_RECORD=$folder/${program##*/}/record "$program" --gtest_filter='mutations.*' >"$folder/log" 2>&1 ||
        { cat "$folder/log" >&2; exit 1; }
done
engine=$folder/${1##*/} stub=$folder/${2##*/}
lines=$(cat "$engine"/record.* | wc -l)
[ "$lines" -ge 10000 ] || { printf 'check_agreement: only %s calls were recorded\n' "$lines" >&2; exit 1; }
if ! difference=$(diff -r "$engine" "$stub"); then
    printf 'check_agreement: the engine (<) and the stub (>) differ in %s calls, first of them\n%s\n' \
        "$(grep -c '^<' <<<"$difference")" "$(head -n 40 <<<"$difference")" >&2
    exit 1
fi
printf 'check_agreement: %s calls, answered alike\n' "$lines"
