#!/usr/bin/env bash
# C answers as test/golden/abi.txt remembers, bit for bit, on the serial class.
# Usage: scripts/check_golden.sh GOLDEN_ABI
set -euo pipefail

root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$1" "$root/models/nano-text.safetensors" "$folder" >"$folder/answers"
diff "$root/test/golden/abi.txt" "$folder/answers"
