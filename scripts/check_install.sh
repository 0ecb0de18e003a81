#!/usr/bin/env bash
# Installs a build into an empty folder and links c/test.c against it in every way c/README.md offers, then runs it. The
# program in README.md too, and the stub: its part of the build, and on its own, as src_stub/README.md offers it.
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
run_alone() { # as it is, without a word of where libraries are
    printf '%s: ' "$1"
    mkdir -p "$folder/out"
    (cd "$root" && "$folder/$1" "$folder/out") >"$folder/log" 2>&1 || { cat "$folder/log" >&2; exit 1; }
    printf 'runs\n'
}
run() { LD_LIBRARY_PATH=$libraries run_alone "$@"; }

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

# A prefix that the loader does not search: the program may remember it.
# shellcheck disable=SC2046
"$compiler" -std=c99 "$root/c/test.c" -o "$folder/pkg_config_rpath" $(pkg-config --cflags --libs uform) \
    -Wl,-rpath,"$(pkg-config --variable=libdir uform)" -lm
run_alone pkg_config_rpath

# The program that README.md shows, as it stands there, in the folder it is for.
sed -n '/^```c$/,/^```$/p' "$root/README.md" | sed '/^```/d' >"$folder/shown.c"
# shellcheck disable=SC2046
"$compiler" -std=c99 -Wall -Wextra -Wpedantic -Werror "$folder/shown.c" -o "$folder/shown" $(pkg-config --cflags --libs uform)
run shown

# The engine's install has nothing of the stub; the stub's component, and the stub built alone, have all it takes.
[ -z "$(find "$folder/moved" -name '*uform_stub*')" ] || { printf 'check_install: the stub came uncalled\n' >&2; exit 1; }
check_stub() { # PREFIX NAME
    pc=$(find "$1" -name uform_stub.pc)
    libraries=$(dirname "$(dirname "$pc")")
    export PKG_CONFIG_PATH=${pc%/*}
    # shellcheck disable=SC2046
    "$compiler" -std=c99 "$folder/stub.c" -o "$folder/$2_shared" $(pkg-config --cflags --libs uform_stub)
    run "$2_shared"
    # shellcheck disable=SC2046
    "$compiler" -std=c99 "$folder/stub.c" -o "$folder/$2_static" $(pkg-config --cflags uform_stub) \
        "$libraries/libuform_stub.a" -lstdc++ -lpthread -lm
    run_alone "$2_static"
}
cp "$folder/shown.c" "$folder/stub.c"
if [ -f "$build/src_stub/uform_stub.pc" ]; then
    cmake --install "$build" --component uform_stub --prefix "$folder/stub" >/dev/null
    mv "$folder/stub" "$folder/stub_moved"
    check_stub "$folder/stub_moved" stub_component
fi
# Of the repository nothing but what it is said to need.
mkdir "$folder/sources"
cp -r "$root/c" "$root/src_stub" "$folder/sources"
cmake -S "$folder/sources/src_stub" -B "$folder/stub_build" -G Ninja >/dev/null
cmake --build "$folder/stub_build" --parallel 2 >/dev/null
cmake --install "$folder/stub_build" --prefix "$folder/stub" >/dev/null
check_stub "$folder/stub" stub_alone
