#!/usr/bin/env bash
# The commands of README.md's "Tools", as they stand there but for the minutes, in a folder of their own.
# Usage: scripts/check_readme.sh BIN_FOLDER
set -euo pipefail

root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
PATH=$(realpath -- "$1"):$PATH
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd -- "$folder"
ln -s "$root/models" "$root/scripts" .
printf 'Click to open the selected file.\nDeletes the current table row.\n' >lines.txt
sed -n '/^## Tools$/,/^## /p' "$root/README.md" | sed -n '/^```sh$/,/^```$/p' | sed '/^```/d; s/--minutes 3/--steps 1/' >commands
[ "$(grep -c '^uform_' commands)" -ge 4 ] && grep -q -e '--steps 1' commands
bash -euo pipefail commands >log 2>&1 || { cat log >&2; exit 1; }
for made in nano.safetensors run.jsonl vectors.npy wide.safetensors; do
    [ -s "$made" ] || { printf 'check_readme: no %s\n' "$made" >&2; exit 1; }
done
