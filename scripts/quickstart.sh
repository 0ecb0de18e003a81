#!/usr/bin/env bash
# From a clone to search across languages: installs, builds, takes a corpus, searches it, trains a model of its own.
# Usage: scripts/quickstart.sh [--no-train] [--minutes N]
#   --no-train    leave out training a fresh model
#   --minutes N   train it for N minutes (default 3)
# Figures land in build/quickstart/report.json. Asked again, it reuses what it built, downloaded and trained.
set -euo pipefail

here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
for argument in "$@"; do
    case $argument in
    -h | --help)
        sed -n '2,/^set /{s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}"
        exit 0
        ;;
    esac
done

"$here/install.sh" # python3 is among what it installs
exec python3 "$here/quickstart.py" "$@"
