#!/usr/bin/env bash
# Installs what a build needs, builds, and runs every test.
# Usage: scripts/test.sh [--all] [--sanitize]
#   (nothing)     release, then the Python binding and the Rust crate, then AArch64 under emulation, then the threaded
#                 tests under ThreadSanitizer, then the whole suite under ASan and UBSan
#   --sanitize    the two sanitized runs alone
#   --all         also what takes long: every codec in every container, the learning checks, a run under Slurm, a minute of fuzzing each target, a minute of stress
#                 and the Python package as it is published
# The whole suite runs last, so that the output closes on ctest's own summary of all engine tests, not of a part.
set -euo pipefail

cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."

usage() {
    sed -n '2,/^set /{s/^# \{0,1\}//p}' scripts/test.sh
}

with_release=yes
with_long=no
for argument in "$@"; do
    case $argument in
    --all) with_long=yes ;;
    --sanitize) with_release=no ;;
    -h | --help)
        usage
        exit 0
        ;;
    *)
        printf 'test: unknown option %s\n' "$argument" >&2
        usage >&2
        exit 2
        ;;
    esac
done

# build PRESET [cmake options]
build() {
    printf '\n== Building: %s\n' "$1"
    cmake --preset "$@" >/dev/null
    cmake --build --preset "$1"
}

# check PRESET [ctest options]: a filter that matches nothing is a failure, or a renamed test would go unrun unnoticed.
check() {
    local preset=$1
    shift
    printf '\n== Testing: %s\n' "$preset"
    "${launcher[@]}" ctest --preset "$preset" --no-tests=error --parallel "$(nproc)" "$@" </dev/null
}

launcher=()
scripts/install.sh

if [ "$with_release" = yes ]; then
    build release -DUFORM_PYARROW="$(scripts/install_pyarrow.sh)"
    check release
    scripts/check_media_learning.sh --short
    scripts/check_python.sh
    scripts/check_rust.sh
    scripts/check_emulated.sh
fi
if [ "$with_long" = yes ]; then
    [ "$with_release" = yes ] || build release
    /usr/bin/python3 test/media/video_test.py build/release/test/media/decoded_frames --all || [ $? -eq 77 ]
    scripts/check_learning.sh
    scripts/check_media_learning.sh
    scripts/check_convergence.sh
    scripts/check_slurm.sh
    scripts/check_package.sh
    scripts/check_fuzz.sh 60
    python3 test/media/audio_test.py build/release/test/media/decoded_samples --all
fi

# Threads meet in the executor, the calls, the trainer, the mesh and where files are decoded; of texts, only where two
# executors run at once.
meeting=(executor_unit call_unit trainer_unit trainer_choices_unit trainer_safety trainer_start_unit rendezvous_unit
    mesh_unit image_encode_unit audio_encode_unit video_encode_unit)
printf '\n== Building: tsan\n'
cmake --preset tsan >/dev/null
cmake --build --preset tsan --target test_verbs_stress test_encode_unit "${meeting[@]/#/test_}"
# GCC 12's ThreadSanitizer refuses the address layouts that newer kernels draw; where we may, we ask for a fixed one.
if setarch "$(uname -m)" --addr-no-randomize true 2>/dev/null; then
    launcher=(setarch "$(uname -m)" --addr-no-randomize)
fi
check tsan --tests-regex "^($(IFS='|' && printf '%s' "${meeting[*]}"))\$"
UFORM_STRESS_SECONDS=$([ "$with_long" = yes ] && printf 60 || printf 10) check tsan --tests-regex '^verbs_stress$'
GTEST_FILTER='*two_executors*' check tsan --tests-regex '^encode_unit$'
launcher=()

# The preset turns off a guess of AddressSanitizer's about thread-local memory of loaded libraries, such as UCX: up to
# GCC 13 it takes some for the layout of glibc before 2.25, and the search for leaks then reads anywhere.
build asan
check asan
