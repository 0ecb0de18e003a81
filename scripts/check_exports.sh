#!/usr/bin/env bash
# The shared library shows the verbs its headers declare, all of them and nothing else, and needs no library unforeseen.
# Usage: scripts/check_exports.sh LIBRARY.so HEADERS_FOLDER
set -euo pipefail

library=$1 headers=$2
refuse() {
    printf 'check_exports: %s\n' "$1" >&2
    exit 1
}

# A declaration may break its line after UFORM_API and its type, so lines are joined first.
declared=$(cat "$headers"/*.h | tr '\n' ' ' | grep -oE 'UFORM_API [^;(]*\(' | grep -oE 'uform_[a-z0-9_]+ *\($' | tr -d ' (' | sort -u)
exported=$(nm --dynamic --defined-only "$library" | awk '{ print $3 }' | sort -u)
[ -n "$declared" ] || refuse "no declaration found in $headers"
difference=$(diff <(printf '%s\n' "$declared") <(printf '%s\n' "$exported")) ||
    refuse "declared (<) and exported (>) differ:"$'\n'"$difference"

dynamic=$(readelf --dynamic --wide "$library")
needed=$(printf '%s\n' "$dynamic" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
unforeseen=$(printf '%s\n' "$needed" | grep -vE '^(libjpeg|libspng|libwebp|libav(format|codec|util)|libsw(scale|resample)|libsimdjson|libstdc\+\+|libm|libgcc_s|libc|ld-linux[a-z0-9_-]*)\.so' || true)
[ -z "$unforeseen" ] || refuse "it needs $unforeseen"
printf '%s\n' "$dynamic" | grep -q '(SONAME).*\[libuform\.so\.[0-9]*\]' || refuse 'it has no soname of one version'
! printf '%s\n' "$dynamic" | grep -q TEXTREL || refuse 'it relocates its text'
! readelf --program-headers --wide "$library" | grep -E 'GNU_STACK' | grep -q 'RWE' || refuse 'its stack is executable'
printf 'check_exports: %s verbs, as declared\n' "$(printf '%s\n' "$exported" | wc -l)"
