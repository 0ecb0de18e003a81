#!/usr/bin/env bash
# Installs what a build needs from Debian's own packages, and only what is missing; says nothing when nothing is.
# Usage: scripts/install.sh [PACKAGE ...]    as root, or as a user who has sudo; without names, what every build needs
set -euo pipefail

packages=(g++ cmake ninja-build ccache pkg-config libgtest-dev libbenchmark-dev libcli11-dev libfmt-dev
    libsimdjson-dev libzstd-dev nlohmann-json3-dev libucx-dev libjpeg62-turbo-dev libspng-dev libwebp-dev
    libavformat-dev libavcodec-dev libswscale-dev libswresample-dev python3-pil ffmpeg sox libsox-fmt-mp3 spin python3 ca-certificates)
[ $# -eq 0 ] || packages=("$@")

fail() {
    printf 'install: %s\n' "$1" >&2
    exit 1
}

is_installed() {
    [ "$(dpkg-query --show --showformat='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

{ command -v dpkg-query && command -v apt-get; } >/dev/null ||
    fail "this system has no apt; install by hand: ${packages[*]}"

missing=()
for package in "${packages[@]}"; do
    is_installed "$package" || missing+=("$package")
done
[ "${#missing[@]}" -gt 0 ] || exit 0

as_root=()
if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || fail "not root and no sudo; as root, run: apt-get install ${missing[*]}"
    as_root=(sudo)
fi

log=$(mktemp)
trap 'rm -f "$log"' EXIT

# A package's own questions and a terminal's absence must not stop an unattended run.
apt() {
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get --quiet --quiet --yes \
        -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0 "$@" </dev/null >"$log" 2>&1
}

printf 'install: %s\n' "${missing[*]}"
# The first try works wherever package lists are fresh; a bare system has none, an old one names versions that are gone.
apt install --no-install-recommends "${missing[@]}" && exit 0
apt update || true
apt install --no-install-recommends "${missing[@]}" && exit 0
reason=$(grep -m 1 '^E: ' "$log" || tail -n 1 "$log")
fail "apt could not install ${missing[*]}: ${reason:-no reason given}"
