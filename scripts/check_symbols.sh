#!/usr/bin/env bash
# No class unit may define a weak symbol: the linker could take that copy, full of its instructions, for everybody.
# Usage: scripts/check_symbols.sh LIBRARY.a     of an optimized build; debug builds keep inline functions apart
set -euo pipefail

weak=$(nm --defined-only --demangle "$1" 2>/dev/null | awk '
    /^[a-z_0-9]+\.cpp\.o:$/ { unit = $1 }
    unit ~ /^(haswell|skylake|genoa|sapphire)\.cpp\.o:$/ && $2 ~ /^[WVu]$/ { print unit, $0 }')
units=$(nm --defined-only "$1" 2>/dev/null | grep -cE '^(haswell|skylake|genoa|sapphire)\.cpp\.o:$' || true)
[ "$units" -eq 4 ] || { printf 'check_symbols: %s holds %s of the 4 class units\n' "$1" "$units" >&2; exit 1; }
[ -z "$weak" ] || { printf 'check_symbols: weak symbols in class units:\n%s\n' "$weak" >&2; exit 1; }
printf 'check_symbols: no weak symbol in %s class units\n' "$units"
