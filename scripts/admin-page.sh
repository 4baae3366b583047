#!/usr/bin/env bash
# The admin page in a real browser (Chromium, headless), while clients ask for objects: what it shows must be what the service counts, its form
# must purge, and it must show that the service is gone when it is. Ends with "N passed, N failed".
#
#   scripts/admin-page.sh [--no-build] [--screenshot FILE.png]      (the screenshot takes 125 s, so that the charts are full)
#
# The service is one of two nodes of a cluster. Needs the .NET SDK, curl, node, npm, chromium and nats-server; as root on Debian it installs all
# but the first. Everything listens on loopback, on free ports, and is stopped at the end; playwright-core, which speaks to the browser, is fetched
# into a temporary directory that is removed.
set -uo pipefail
readonly PLAYWRIGHT=playwright-core@1.64.1
REPOSITORY="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
readonly REPOSITORY
# shellcheck source=checks.sh
source "$REPOSITORY/scripts/checks.sh"
build=true
screenshot=""
while [[ $# -gt 0 ]]; do
    case "$1" in
        --help) show_help ;;
        --no-build) build=false ;;
        --screenshot)
            screenshot="${2:?--screenshot: expected a file}"
            shift
            ;;
        *) echo "$1: unknown option; see --help" >&2; exit 2 ;;
    esac
    shift
done

Admin__Token="$(head -c 16 /dev/urandom | od -An -tx1 | tr -d ' \n')"
export Admin__Token
work="$(mktemp -d)"
service_pid=""
other_pids=()
clean_up() {
    [[ ${#other_pids[@]} -eq 0 ]] || kill "${other_pids[@]}" 2> /dev/null
    [[ -z "$service_pid" ]] || kill "$service_pid" 2> /dev/null
    wait
    rm -rf "$work"
}
clean_up_at_the_end

# Hits and misses, one after the other.
load() {
    local number
    for ((number = 0; ; number++)); do
        curl --silent --output "$work/object" "http://127.0.0.1:$port/object/$((number % 20))?size=10000&ttl=2s" || sleep 0.1
    done
}

# Readers of a body that is being received, for as long as the checks take.
load_live() {
    while true; do
        curl --silent --output "$work/live" "http://127.0.0.1:$port/object/live?size=100000000&chunk=4096&interval=50ms&length=none" || sleep 0.1
    done
}

# start_node NAME PORT ADMIN_PORT: sets node_pid.
start_node() {
    dotnet "$REPOSITORY/samples/CachingService/bin/Release/net10.0/CachingService.dll" --urls "http://127.0.0.1:$2" \
        "--Admin:Url=http://127.0.0.1:$3" "--Cache:Cluster:Nats=nats://127.0.0.1:$nats_port" "--Cache:Cluster:Node=$1" \
        --DrainTimeout=0s > "$work/$1.log" 2>&1 &
    node_pid=$!
    wait_until 20 curl --silent --fail --output "$work/health" "http://127.0.0.1:$2/health" \
        || { cat "$work/$1.log"; give_up "node $1 did not start"; }
}

"$REPOSITORY/scripts/require-tools.sh" curl node npm chromium nats-server || give_up "a tool is missing"
[[ "$build" == false ]] || build_service
node --test "$REPOSITORY/scripts/admin-page/" > "$work/node.log" 2>&1
check "what the page makes of readings" "$(grep '^# pass' "$work/node.log")" grep -qx '# fail 0' "$work/node.log"
grep -qx '# fail 0' "$work/node.log" || cat "$work/node.log"
npm install --silent --no-audit --no-fund --prefix "$work" "$PLAYWRIGHT" > "$work/npm.log" 2>&1 \
    || { cat "$work/npm.log"; give_up "$PLAYWRIGHT cannot be fetched"; }

nats_port="$(free_port)"
nats-server -a 127.0.0.1 -p "$nats_port" -js -sd "$work/nats" > "$work/nats.log" 2>&1 &
other_pids+=("$!")
start_node other "$(free_port)" "$(free_port)"
other_pids+=("$node_pid")
port="$(free_port)"
admin_port="$(free_port)"
start_node watched "$port" "$admin_port"
service_pid="$node_pid"
load 2> "$work/load.log" &
other_pids+=("$!")
for _ in 1 2 3; do
    load_live 2> "$work/load.log" &
    other_pids+=("$!")
done

node "$REPOSITORY/scripts/admin-page/browse.mjs" "$work/node_modules/playwright-core" "$(command -v chromium)" "http://127.0.0.1:$admin_port/" \
    "$service_pid" "$screenshot" > "$work/browse.log" 2>&1
status=$?
grep -v ' passed, ' "$work/browse.log"
passed=$((passed + $(grep -c '^ok ' "$work/browse.log")))
failed=$((failed + $(grep -c '^FAILED ' "$work/browse.log")))
check "the browser has come to its end" "exit status $status" grep -q ' passed, ' "$work/browse.log"
finish
