#!/usr/bin/env bash
# The caching service under everything at once: objects of 100 bytes to 4 MiB, ten times more of them than it has memory, that expire, vary,
# fail and are purged, asked for whole, in ranges, with conditions and by clients that leave. Every byte is checked; at the end the service's
# counters are compared with what clients, origin and operator know, its objects are counted one by one, and all must be given back.
#
#   scripts/mixed-load.sh [--no-build] [TIME]      20s, 10m, 2h; 10m if not said, and the resident size is judged from that on
#
# Fails when a byte or a counter is wrong, or when the tenth minute needs more memory than the second.
set -uo pipefail
REPOSITORY="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
# shellcheck source=checks.sh
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
[[ "${1:-10m}" =~ ^([1-9][0-9]*)([smh])$ ]] || give_up "TIME: '$1' is not a time like 20s, 10m or 2h"
declare -A seconds_of=([s]=1 [m]=60 [h]=3600)
seconds=$((BASH_REMATCH[1] * seconds_of[${BASH_REMATCH[2]}]))

python3 "$REPOSITORY/scripts/mixed-load/drill.py" "$REPOSITORY/samples/CachingService/bin/Release/net10.0/CachingService" "$work" "$seconds"
