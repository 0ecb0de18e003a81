#!/usr/bin/env bash
# No class unit may define a weak symbol: the linker could take that copy, full of its instructions, for everybody.
# Usage: scripts/check_symbols.sh LIBRARY.a [UNIT ...]     of an optimized build; debug builds keep inline functions apart
set -euo pipefail

library=$1
shift
[ $# -gt 0 ] || set -- haswell skylake genoa sapphire
pattern="^($(IFS='|' && printf '%s' "$*"))[.]cpp[.]o:\$"
weak=$(nm --defined-only --demangle "$library" 2>/dev/null | awk -v pattern="$pattern" '
    /^[a-z_0-9]+\.cpp\.o:$/ { unit = $1 }
    unit ~ pattern && $2 ~ /^[WVu]$/ { print unit, $0 }')
units=$(nm --defined-only "$library" 2>/dev/null | grep -cE "$pattern" || true)
[ "$units" -eq $# ] || { printf 'check_symbols: %s holds %s of the %s class units\n' "$library" "$units" $# >&2; exit 1; }
[ -z "$weak" ] || { printf 'check_symbols: weak symbols in class units:\n%s\n' "$weak" >&2; exit 1; }
printf 'check_symbols: no weak symbol in %s class units\n' "$units"
