#!/usr/bin/env bash
# Wears the io_uring transport out and then wants everything back; runs many more cases of the fuzz test afterwards.
#
#   scripts/soak.sh [OPTION...]      e.g. scripts/soak.sh --duration 10m --scenario churn
#
# The options are those of benchmarks/IoUringCache.Soak, whose own --help lists them. FUZZ_CASES in the environment is the number of fuzz cases
# on each transport, 2000 if it is not set and none if it is 0. Fails when something is missing or a case fails.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if [[ "$*" == *--help* ]]; then
    sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "$0"
    exit 0
fi

readonly DESCRIPTORS=65536
export IOURING_REQUIRED=1 FUZZ_CASES="${FUZZ_CASES:-2000}"

# Ten thousand connections need as many descriptors in either process; only root may raise the limit.
ulimit -n "$DESCRIPTORS" 2> /dev/null || ulimit -n "$(ulimit -Hn)"

soak=benchmarks/IoUringCache.Soak
tests=tests/IoUringCache.Transport.Tests
for project in "$soak" "$tests"; do
    dotnet build "$project" --configuration Release --nologo --verbosity quiet || exit 1
done

failures=0
"$soak/bin/Release/net10.0/IoUringCache.Soak" "$@" || failures=1
if [[ "$FUZZ_CASES" -gt 0 ]]; then
    "$tests/bin/Release/net10.0/IoUringCache.Transport.Tests" -noLogo -class '*.Fuzz.*' || failures=1
fi
exit "$failures"
