#!/usr/bin/env bash
# Kills the caching service again and again while clients read, change and purge objects, and checks every byte that it serves from its disk.
#
#   scripts/kill-loop.sh [--no-build] [KILLS]      20 if not said
#
# Each change, and each purge of a tag or of everything, that was answered before a kill must still count after it. Fails when a byte is wrong,
# or nothing came from the disk.
set -uo pipefail
REPOSITORY="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
source "$REPOSITORY/scripts/checks.sh"
[[ "$*" == *--help* ]] && show_help

work="$(mktemp -d)"
clean_up() {
    rm -rf "$work"
}
clean_up_at_the_end

if [[ "${1:-}" == --no-build ]]; then
    shift
else
    build_service
fi

python3 "$REPOSITORY/scripts/kill-loop/drill.py" "$REPOSITORY/samples/CachingService/bin/Release/net10.0/CachingService" "$work" "${1:-20}"
