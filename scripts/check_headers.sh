#!/bin/sh
# Each header of the C ABI compiles alone, in C and in C++, without a warning and without a feature macro.
#   check_headers.sh <repository> <C compiler> <C++ compiler>
set -eu
root=$1 c=$2 cxx=$3
strict="-Wall -Wextra -Wpedantic -Werror -fsyntax-only -I$root/c"
for header in "$root"/c/uform/*.h; do
  for standard in c99 c17; do "$c" -x c -std=$standard $strict "$header"; done
  for standard in c++17 c++20; do "$cxx" -x c++ -std=$standard $strict "$header"; done
  # Only include guards, the language and the platform may decide what a header says.
  if grep -nE '^ *#(if|ifdef|ifndef|elif)' "$header" | grep -vE '__cplusplus|UFORM_[A-Z]+_H_|__GNUC__|_WIN32'; then
    echo "$header depends on a macro" >&2
    exit 1
  fi
done
# The sizes bindings count on: an enum is four bytes in C too, and a zeroed struct is a valid start.
printf '%s\n' '#include <uform/uform.h>' \
  'typedef char enum_is_four[sizeof(uform_status_t) == 4 && sizeof(uform_objective_t) == 4 ? 1 : -1];' \
  'typedef char outcome_ends_in_detail[sizeof(((uform_outcome_t *)0)->detail) == 256 ? 1 : -1];' \
  'void use(void); void use(void) { uform_text_encode_t call = {0}; uform_text_encode(&call); }' |
  "$c" -x c -std=c99 $strict -
