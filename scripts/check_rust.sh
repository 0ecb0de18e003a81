#!/usr/bin/env bash
# The Rust crate against the libraries of a build: its suite on engine and stub, every block of its README and of the
# repository's, what must not compile, leaks, lints, documentation, Miri, what the crate adds to a call, which library it
# links, and that its package builds from itself.
# Usage: scripts/check_rust.sh [--all] [BUILD_FOLDER]    as `cmake --preset release` built it, which is the default
#   --all    also the engine out of the package, which compiles all of it again
# Where Rust or the registry is missing, it says so and succeeds.
set -euo pipefail

root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
with_long=no
if [ "${1:-}" = --all ]; then
    with_long=yes
    shift
fi
build=$(realpath -- "${1:-$root/build/release}")
stub=$build/src_stub
cd -- "$root/rust"

say() { printf '\n== Rust: %s\n' "$1"; }
skip() {
    printf '\n== SKIPPED: Rust: %s\n' "$1"
    "${2:-false}" || exit 0
}

command -v cargo >/dev/null || skip 'no cargo; its suite, lints and package were not checked'
wanted=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
found=$(rustc --version | cut -d ' ' -f 2)
[ "$(printf '%s\n' "$wanted" "$found" | sort --version-sort | head -n 1)" = "$wanted" ] ||
    skip "rustc $found is older than $wanted, the least that is supported"
timeout 120 cargo fetch --locked --quiet && timeout 120 cargo fetch --locked --quiet --manifest-path refusals/Cargo.toml || skip 'the registry cannot be reached, and its crates are not here'
[ -f "$build/libuform.a" ] && [ -f "$stub/libuform_stub.a" ] || {
    printf 'check_rust: no libuform.a and src_stub/libuform_stub.a in %s; build the release preset first\n' "$build" >&2
    exit 1
}

export CARGO_NET_OFFLINE=true RUST_BACKTRACE=0 CARGO_TARGET_DIR=$root/build/rust
scratch=$(mktemp -d)
log=$scratch/log package=$scratch/package
trap 'rm -rf "$scratch"' EXIT
on_engine() { UFORM_LIBRARY_DIR=$build "$@"; }
on_stub() { UFORM_LIBRARY_DIR=$stub "$@"; }
# Panics that tests make on purpose are told on the error stream: it is shown where something failed.
quietly() { "$@" 2>"$log" || { cat "$log" >&2; exit 1; }; }

# The files among the rows of test/conformance, which C writes for us.
conformance=$build/test/conformance/conformance_stub
if [ -x "$conformance" ]; then
    mkdir "$scratch/rows"
    UFORM_CONFORMANCE_WRITE=$scratch/rows "$conformance" >"$log" || { cat "$log" >&2; exit 1; }
    export UFORM_CONFORMANCE_FILES=$scratch/rows
else
    skip "files among the rows of test/conformance: no $conformance" true
fi

say 'the suite on the engine'
quietly on_engine cargo test --locked --lib --test suite
quietly on_engine cargo test --locked --doc
say 'the suite on the stub'
quietly on_stub cargo test --locked --features stub --lib --test suite
say 'leaks, alone in a process'
quietly on_engine env UFORM_ALONE=1 cargo test --locked --test suite -- --exact lifetimes::ten_thousand_calls_leak_nothing

# The words of the compiler are those of one version: others say the same differently.
case $found in
"$wanted".*)
    say 'what must not compile'
    (cd refusals && quietly on_stub cargo test --locked --test refusals)
    ;;
*) skip "what must not compile: the words kept are rustc $wanted's, this is $found" true ;;
esac

if cargo clippy --version >/dev/null 2>&1; then
    say 'clippy'
    quietly on_stub cargo clippy --locked --features stub --all-targets -- -D warnings
else
    skip 'clippy: not installed' true
fi
if cargo fmt --version >/dev/null 2>&1; then
    say 'format'
    cargo fmt --check
else
    skip 'format: no rustfmt' true
fi
say 'documentation'
RUSTDOCFLAGS='-D warnings' quietly on_stub cargo doc --locked --features stub --no-deps
# Its standard library is compiled once for each nightly, from sources and a registry: not offline.
if ! cargo +nightly miri --version >/dev/null 2>&1; then
    skip 'Miri: not installed (rustup +nightly component add miri rust-src)' true
elif ! CARGO_NET_OFFLINE=false timeout 300 cargo +nightly miri setup >"$log" 2>&1; then
    skip "Miri: its standard library does not build: $(tail -n 1 "$log")" true
else
    say 'Miri, on what calls no library, and on calls over a library of its own'
    quietly on_stub cargo +nightly miri test --locked --features stub --lib -- --skip layout
fi

say 'what the crate adds to a call: 200 ns at most'
quietly on_engine cargo run --locked --release --example overhead

say 'a new project, as README.md has it'
project=$scratch/project
cargo init --quiet --vcs none --name newcomer "$project"
# As rust/README.md adds the crate, UFORM being the repository.
sed -n '/^```sh$/,/^```$/p' README.md | sed '/^```/d' >"$scratch/shell"
[ -s "$scratch/shell" ]
(cd "$project" && quietly bash -ec "$(sed "s|UFORM|$root|g" "$scratch/shell")")
sed -n '/^```rust$/,/^```$/p' "$root/README.md" | sed '/^```/d' >"$project/src/main.rs"
(cd "$root" && quietly on_engine cargo run --quiet --manifest-path "$project/Cargo.toml")

say 'which library is linked'
expect_refused() { # a part of the message, then the command
    local words=$1
    shift
    if "$@" 2>"$log"; then
        printf 'check_rust: not refused: %s\n' "$*" >&2
        exit 1
    fi
    grep -q "$words" "$log" || { cat "$log" >&2; exit 1; }
}
for features in cuda,stub rocm,stub; do
    expect_refused 'it goes with neither `cuda` nor `rocm`' on_stub cargo check --quiet --locked --features "$features"
done
expect_refused 'feature `cuda`: this version has no GPU kernels' on_engine cargo check --quiet --locked --features cuda
expect_refused 'feature `rocm`: this version has no GPU kernels' on_engine cargo check --quiet --locked --features rocm
expect_refused 'no /nowhere/libuform.a' env UFORM_LIBRARY_DIR=/nowhere cargo check --quiet --locked
expect_refused 'no .*/libuform.a' on_stub cargo check --quiet --locked # which holds the stub alone
mkdir -p "$scratch/lib/pkgconfig" # as it is installed
ln -s "$stub/libuform_stub.a" "$scratch/lib/"
cp "$stub/uform_stub.pc" "$scratch/lib/pkgconfig/"
quietly env UFORM_LIBRARY_DIR="$scratch/lib" cargo check --locked --features stub
printf 'features and UFORM_LIBRARY_DIR are refused by name, and an installed library is found\n'

say 'the package'
quietly cargo package --locked --allow-dirty --no-verify
mkdir "$package"
tar --extract --gzip --directory "$package" --file "$root"/build/rust/package/uform-*.crate
cd "$package"/uform-*
[ -z "$(find . -type l)" ] || { printf 'check_rust: the package holds links\n' >&2; exit 1; }
for folder in c src include src_stub cmake CMakeLists.txt; do
    diff --recursive --brief --exclude __pycache__ "$root/$folder" "engine/$folder"
done
# With a compiler cache where there is one: what is compiled was compiled before, elsewhere.
if command -v ccache >/dev/null; then
    export CMAKE_C_COMPILER_LAUNCHER=ccache CMAKE_CXX_COMPILER_LAUNCHER=ccache CCACHE_BASEDIR=$package
fi
quietly env --unset=UFORM_LIBRARY_DIR CARGO_TARGET_DIR="$package/target" cargo build --locked --features stub
[ "$with_long" = no ] || quietly env --unset=UFORM_LIBRARY_DIR CARGO_TARGET_DIR="$package/target" cargo build --locked
printf 'it builds from itself, without a network\n'
