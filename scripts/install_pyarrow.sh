#!/usr/bin/env bash
# Installs PyPI's pyarrow into build/pyarrow and prints the folder that UFORM_PYARROW takes; Debian has no Arrow C++.
# Prints nothing but a line on stderr where the registry cannot be reached: Parquet is then neither built nor tested.
set -euo pipefail

cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."

log=$(mktemp)
trap 'rm -f "$log"' EXIT
find_package() { find "$PWD/build/pyarrow" -maxdepth 5 -path '*/site-packages/pyarrow' -print -quit 2>/dev/null; }

if [ -z "$(find_package)" ]; then
    { python3 -m venv build/pyarrow || { scripts/install.sh python3-venv && python3 -m venv --clear build/pyarrow; }; } \
        >"$log" 2>&1 </dev/null && build/pyarrow/bin/pip install --quiet pyarrow >"$log" 2>&1 </dev/null || {
        printf 'install_pyarrow: SKIPPED: Parquet, as pyarrow cannot be installed: %s\n' "$(grep . "$log" | tail -n 1)" >&2
        exit 0
    }
fi
find_package
