#!/usr/bin/env bash
# Builds and runs the tests, one project after the other (timing tests and a shared machine do not mix).
#
#   scripts/test.sh [--no-build] [--configuration Release|Debug] [PROJECT...]
#   scripts/test.sh --configuration Debug IoUringCache.Ring.Tests      for example
#
# Without PROJECT: every project under tests/, in Release. With --no-build: as they were built before. Ends with "N passed, N failed,
# N skipped", counted from the result files.
#
# Fails when a test fails, when a project does not build or runs no test, and, with IOURING_REQUIRED=1 in the environment, when a test
# was skipped because io_uring is missing.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

configuration=Release
is_built=false
projects=()
while [[ $# -gt 0 ]]; do
    case "$1" in
        --configuration)
            [[ "${2:-}" =~ ^(Release|Debug)$ ]] || { echo "--configuration: expected Release or Debug" >&2; exit 2; }
            configuration="$2"
            shift 2
            ;;
        --no-build)
            is_built=true
            shift
            ;;
        --help)
            sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "$0"
            exit 0
            ;;
        -*) echo "$1: unknown option; see --help" >&2; exit 2 ;;
        *)
            [[ -f "tests/$1/$1.csproj" ]] || { echo "$1: there is no tests/$1/$1.csproj" >&2; exit 2; }
            projects+=("$1")
            shift
            ;;
    esac
done
if [[ ${#projects[@]} -eq 0 ]]; then
    build_targets=(IoUringCache.sln)
    for file in tests/*/*.csproj; do
        projects+=("$(basename "$file" .csproj)")
    done
else
    build_targets=("${projects[@]/#/tests/}")
fi

results="artifacts/test-results/$configuration"
rm -rf "$results"
problems=()

build() {
    local target
    [[ $is_built == false ]] || return 0
    for target in "${build_targets[@]}"; do
        dotnet build "$target" --configuration "$configuration" --nologo --verbosity quiet || return 1
    done
}

if build; then
    for project in "${projects[@]}"; do
        # A test that hangs is ended after five minutes and reported by name.
        dotnet test "tests/$project" --configuration "$configuration" --no-build --nologo --results-directory "$results" \
            --logger "trx;LogFileName=$project.trx" --blame-hang-timeout 5m --blame-hang-dump-type none \
            || problems+=("$project failed")
    done
else
    problems+=("the build failed")
fi

for problem in "${problems[@]}"; do
    echo "FAILED  $problem"
done
scripts/count-results.sh "${projects[@]/#/$results/}" && [[ ${#problems[@]} -eq 0 ]]
