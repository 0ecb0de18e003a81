#!/usr/bin/env bash
# The Python binding over the stub and over the engine: tests, types, and the shell commands of its README.
# Usage: scripts/check_python.sh [PYTHON]    a CPython 3.9 or newer; the release build's libraries are linked as they are
# Skipped, by name, where the headers of Python or the packages of PyPI are not to be had.
set -euo pipefail

cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
python=${1:-python3}
release=$PWD/build/release
skip() {
    printf 'check_python: SKIPPED: %s\n' "$1" >&2
    exit 0
}

printf '\n== Testing: Python\n'
command -v "$python" >/dev/null || skip "there is no $python"
headers=$("$python" -c 'import sysconfig; print(sysconfig.get_path("include"))')
if [ ! -f "$headers/Python.h" ] && [[ $headers == /usr/include/* ]]; then scripts/install.sh python3-dev python3-venv || true; fi
[ -f "$headers/Python.h" ] || skip "$python has no headers ($headers/Python.h)"
cmake --build --preset release --target uform uform_stub_static uform_stub_shared >/dev/null

# An environment a variant, kept with what PyPI gave it. Without a registry an old one will do, if it has everything.
version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
for variant in stub engine; do
    folder=build/python/$version-$variant packages=(scikit-build-core pytest numpy)
    [ "$variant" = stub ] || packages+=(mypy typing_extensions usearch) # which say nothing about the stub
    [ -x "$folder/bin/python" ] || "$python" -m venv "$folder" || skip "$python makes no virtual environment"
    if [ ! -f "$folder/complete" ]; then
        "$folder/bin/pip" install --quiet --disable-pip-version-check "${packages[@]}" >"$folder/log" 2>&1 ||
            skip "PyPI did not give ${packages[*]}: $(tail -n 1 "$folder/log")"
        touch "$folder/complete"
    fi
done

# The files among the rows of test/conformance, which C writes for us where its tests are built.
conformance=$release/test/conformance/conformance_stub
if [ -x "$conformance" ]; then
    UFORM_CONFORMANCE_FILES=$(mktemp -d)
    export UFORM_CONFORMANCE_FILES
    trap 'rm -rf "$UFORM_CONFORMANCE_FILES"' EXIT
    UFORM_CONFORMANCE_WRITE=$UFORM_CONFORMANCE_FILES "$conformance" >"$UFORM_CONFORMANCE_FILES/log"
fi

# check VARIANT LIBRARY_FOLDER: only the extension is compiled.
check() {
    local folder=build/python/$version-$1 stub=0 define=OFF
    if [ "$1" = stub ]; then stub=1 define=ON; fi
    "$folder/bin/pip" install --quiet --disable-pip-version-check --no-build-isolation --no-deps . \
        --config-settings=build-dir="build/python/$version-$1-objects" --config-settings=cmake.define.UFORM_BUILD_STUB=$define \
        --config-settings=cmake.define.UFORM_LIBRARY_DIR="$2" >"$folder/log" 2>&1 || { cat "$folder/log" >&2; exit 1; }
    printf -- '-- %s, %s\n' "$("$folder/bin/python" --version)" "$1"
    env -u PYTHONPATH UFORM_TEST_STUB=$stub ${3:-} "$folder/bin/python" -m pytest -q -rs -p no:cacheprovider python/test
}
check stub "$release/src_stub"
check engine "$release" UFORM_TEST_INSTALL="$release"

printf -- '-- what a call costs beyond its verb, on the stub\n'
"build/python/$version-stub/bin/python" python/bench/overhead.py models/nano-text.safetensors \
    --library "$release/src_stub/libuform_stub.so" --rounds 15 --check

bin=$PWD/build/python/$version-engine/bin
# What stubtest says of the same stubs differs by version; the allowlist is of Debian 12's.
if [ "$version" = 3.11 ]; then
    "$bin/python" -m mypy --strict python/examples python/uform --cache-dir build/python/mypy
    # Away from the sources, so that what is installed is what is judged.
    (cd build/python && "$bin/python" -m mypy.stubtest uform --allowlist ../../python/test/stubtest_allow.txt --concise)
fi
