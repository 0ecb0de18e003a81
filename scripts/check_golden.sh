#!/usr/bin/env bash
# C answers as test/golden/abi.txt and media.txt remember, bit for bit, on the serial class.
# Usage: scripts/check_golden.sh abi|media PROGRAM
set -euo pipefail

root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
declare -A given=([abi]=models/nano-text.safetensors [media]=test/cases)
"$2" "$root/${given[$1]}" "$folder" >"$folder/answers"
# What this build does not read, it need not remember.
{ grep ' unsupported$' "$folder/answers" || true; } | cut -d ' ' -f 1 >"$folder/unread"
diff <(grep -vwFf "$folder/unread" "$root/test/golden/$1.txt") <(grep -v ' unsupported$' "$folder/answers")
