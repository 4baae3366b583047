#!/usr/bin/env bash
# The public conformance suite for HTTP caches, https://cache-tests.fyi (npm: http-cache-tests), against the caching service. Ends with
# "N passed, N failed". A test that does not pass must be listed with its reason in scripts/cache-tests/deviations.txt, and what is listed
# there must not pass. Tests that only ask how a cache behaves count neither way.
#
#   scripts/cache-tests.sh [--no-build] [ID]      (one test: its requests and answers are shown)
#
# Needs the .NET SDK, node and npm; as root on Debian it installs the last two. Everything listens on loopback, on free ports, and is
# stopped at the end; the suite is fetched into a temporary directory that is removed.
set -uo pipefail
readonly SUITE=http-cache-tests@0.4.5
readonly FETCH=node-fetch@2.7.0
REPOSITORY="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
readonly REPOSITORY
# shellcheck source=checks.sh
source "$REPOSITORY/scripts/checks.sh"
[[ "${1:-}" != --help ]] || show_help
build=true
if [[ "${1:-}" == --no-build ]]; then
    build=false
    shift
fi

work="$(mktemp -d)"
clean_up() {
    rm -rf "$work"
}
clean_up_at_the_end

"$REPOSITORY/scripts/require-tools.sh" node npm || give_up "a tool is missing"
# The suite depends on a whole npm of its own, for scripts that are not used here: it is unpacked without its dependencies.
(cd "$work" && npm pack --silent "$SUITE" "$FETCH" whatwg-url@5.0.0 tr46@0.0.3 webidl-conversions@3.0.1 > packages.txt 2> npm.log) \
    || { cat "$work/npm.log"; give_up "the suite cannot be fetched"; }
while read -r archive; do
    name="${archive%-[0-9]*.tgz}"
    mkdir -p "$work/node_modules/$name"
    tar -xzf "$work/$archive" -C "$work/node_modules/$name" --strip-components=1
done < "$work/packages.txt"

[[ "$build" == false ]] || build_service
node --no-warnings "$REPOSITORY/scripts/cache-tests/run.mjs" "$work/node_modules/http-cache-tests" \
    "$REPOSITORY/samples/CachingService/bin/Release/net10.0/CachingService.dll" "$(free_port)" "$(free_port)" "$@"
