#!/usr/bin/env bash
# Installs a build into an empty folder and links c/test.c against it in every way c/README.md offers, then runs it.
# Usage: scripts/check_install.sh BUILD_FOLDER C_COMPILER
set -euo pipefail

build=$1 compiler=$2
root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cmake --install "$build" --prefix "$folder/usr" >/dev/null

# Moved after it is installed: a package says nothing of where it was built or first put.
mv "$folder/usr" "$folder/moved"
pc=$(find "$folder/moved" -name uform.pc)
libraries=$(dirname "$(dirname "$pc")")
export PKG_CONFIG_PATH=${pc%/*}
run() {
    mkdir -p "$folder/out"
    printf '%s: ' "$1"
    LD_LIBRARY_PATH=$libraries "$folder/$1" "$folder/out" >"$folder/log" 2>&1 || { cat "$folder/log" >&2; exit 1; }
    printf 'runs\n'
}

# shellcheck disable=SC2046
"$compiler" -std=c99 "$root/c/test.c" -o "$folder/pkg_config_shared" $(pkg-config --cflags --libs uform) -lm
run pkg_config_shared
# shellcheck disable=SC2046
"$compiler" -std=c99 "$root/c/test.c" -o "$folder/pkg_config_static" $(pkg-config --cflags uform) \
    -Wl,-Bstatic -L"$libraries" -luform -Wl,-Bdynamic $(pkg-config --static --libs uform | sed 's/-luform//')
run pkg_config_static

cat >"$folder/CMakeLists.txt" <<'LISTS'
cmake_minimum_required(VERSION 3.25)
project(consumer LANGUAGES C CXX)
find_package(uform 4 REQUIRED)
foreach(library uform uform_shared)
  add_executable(cmake_${library} ${source})
  target_link_libraries(cmake_${library} PRIVATE uform::${library} m)
endforeach()
set_target_properties(cmake_uform PROPERTIES LINKER_LANGUAGE CXX)
LISTS
cmake -S "$folder" -B "$folder" -G Ninja -Dsource="$root/c/test.c" -DCMAKE_PREFIX_PATH="$folder/moved" \
    -DCMAKE_BUILD_TYPE=Release -DCMAKE_C_COMPILER="$compiler" >/dev/null
cmake --build "$folder" >/dev/null
run cmake_uform
run cmake_uform_shared
