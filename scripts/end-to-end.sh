#!/usr/bin/env bash
# The caching service end to end, on real input: nginx is the origin of one random file, sent at a limited rate; 50 clients ask for it
# while it is being sent; afterwards wrk asks for the cached object. Prints one line per check and ends with "N passed, N failed".
#
#   scripts/end-to-end.sh [--transport IoUring|Sockets|Auto]      (default IoUring)
#
# Needs the .NET SDK, nginx, wrk and curl; as root on Debian it installs the last three. Everything listens on loopback, on free ports,
# and is stopped at the end; files are in a temporary directory that is removed.
set -uo pipefail
export LC_ALL=C PATH="$PATH:/usr/sbin:/sbin"

readonly FILE_BYTES=1345292
readonly RATE_BYTES=450000 # about 2.5 s for the file
readonly CLIENTS=50
readonly STAGGER_SECONDS=0.02 # the last client starts after about 1 s
readonly LOAD_SECONDS=4
REPOSITORY="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
readonly REPOSITORY
# shellcheck source=checks.sh
source "$REPOSITORY/scripts/checks.sh"

transport=IoUring
origin_pid=
service_pid=
client_pids=()
work=

main() {
    parse_arguments "$@"
    "$REPOSITORY/scripts/require-tools.sh" nginx wrk curl || give_up "a tool is missing"
    work="$(mktemp -d)"
    clean_up_at_the_end

    build_service
    start_origin
    start_service
    fan_out
    check_fan_out
    load_hits
    check_shutdown

    finish
}

parse_arguments() {
    while [[ $# -gt 0 ]]; do
        case "$1" in
            --transport)
                [[ "${2:-}" =~ ^(IoUring|Sockets|Auto)$ ]] || give_up "--transport: expected IoUring, Sockets or Auto"
                transport="$2"
                shift 2
                ;;
            --help) show_help ;;
            *) give_up "$1: unknown option; see --help" ;;
        esac
    done
}

clean_up() {
    local pid
    for pid in "${client_pids[@]}" $service_pid $origin_pid; do
        kill -KILL "$pid" 2> /dev/null
    done
    wait 2> /dev/null
    [[ -n "$work" ]] && rm -rf "$work"
}

start_origin() {
    mkdir -p "$work/origin/content" "$work/origin/temp"
    head -c "$FILE_BYTES" /dev/urandom > "$work/origin/content/asset.bin"
    : > "$work/origin/origin.log"
    start_nginx "$REPOSITORY/scripts/end-to-end/nginx.conf" "$RATE_BYTES"
}

start_service() {
    service_url="http://127.0.0.1:$(free_port)"
    dotnet "$REPOSITORY/samples/CachingService/bin/Release/net10.0/CachingService.dll" \
        --urls "$service_url" --Admin:Url "http://127.0.0.1:$(free_port)" --Transport "$transport" \
        --Cache:Origin "http://127.0.0.1:$origin_port" --Cache:DefaultTtl 00:10:00 > "$work/service.log" 2>&1 &
    service_pid=$!
    if ! wait_until 20 service_is_up_or_gone || is_gone "$service_pid"; then
        tail -n 20 "$work/service.log"
        give_up "the caching service did not start"
    fi
    check "service answers /health" "$(backend_line)" is_healthy
    [[ "$transport" != IoUring ]] || check "service runs on io_uring" "$(backend_line)" grep -q "IO backend: io_uring" "$work/service.log"
}

service_is_up_or_gone() {
    is_healthy || is_gone "$service_pid"
}

is_healthy() {
    [[ "$(curl --silent --max-time 5 "$service_url/health")" == OK ]]
}

backend_line() {
    grep -o 'IO backend: .*' "$work/service.log" || echo "no line about the back end"
}

# Starts the clients, each a little after the one before, and watches their files while the origin is still sending.
fan_out() {
    mkdir "$work/clients"
    local client
    for ((client = 0; client < CLIENTS; client++)); do
        start_client "$work/clients/$client" &
        client_pids+=($!)
        sleep "$STAGGER_SECONDS"
    done
    check "origin is still sending when the last client has started" "nginx logs an answer when it has ended" origin_is_sending
    check "every client has bytes while the origin is still sending" "$CLIENTS files watched" every_client_has_bytes_early
    wait "${client_pids[@]}"
    client_pids=()
    wait_until 10 test -s "$work/origin/origin.log"
}

# One client: body, headers, and one line "START FIRST_BYTE_AFTER STATUS" (seconds) in files of that name.
start_client() {
    local started="$EPOCHREALTIME"
    # exec: the pid that is killed at a clean-up is curl's own.
    exec curl --silent --show-error --no-buffer --max-time 60 --output "$1.body" --dump-header "$1.headers" \
        --write-out "$started %{time_starttransfer} %{http_code}\n" "$service_url/object/asset.bin" > "$1.times" 2> "$1.error"
}

origin_is_sending() {
    [[ ! -s "$work/origin/origin.log" ]]
}

# The order matters: first all files have bytes, and only then is the origin seen to be at work still.
every_client_has_bytes_early() {
    wait_until 10 every_client_has_bytes && origin_is_sending
}

every_client_has_bytes() {
    [[ "$(find "$work/clients" -name '*.body' -size +0 | wc -l)" -eq "$CLIENTS" ]]
}

check_fan_out() {
    local answers sum equal ended last framed marked
    answers="$(cat "$work"/clients/*.times | awk '$3 == 200' | wc -l)"
    check "every client got 200" "$answers of $CLIENTS$(head -qn 1 "$work"/clients/*.error | sed 's/^/; /' | head -n 1)" [ "$answers" -eq "$CLIENTS" ]

    sum="$(sha256sum < "$work/origin/content/asset.bin")"
    equal="$(for body in "$work"/clients/*.body; do sha256sum < "$body"; done | grep -cxF -- "$sum")"
    check "every client's SHA-256 is the file's" "$equal of $CLIENTS" [ "$equal" -eq "$CLIENTS" ]
    check "the origin saw exactly one request" "$(origin_requests) seen" origin_was_asked_once

    ended="$(awk 'NR == 1 { print $1 }' "$work/origin/origin.log")"
    last="$(awk -v ended="$ended" '{ left = ended - $1 - $2; if (NR == 1 || left < least) least = left } END { printf "%.3f", least }' \
        "$work"/clients/*.times)"
    check "every first byte came before the origin's last, by the clients' clock" "the latest $last s before" \
        awk -v left="$last" 'BEGIN { exit !(left > 0) }'

    framed="$(grep -lix "content-length: $FILE_BYTES.*" "$work"/clients/*.headers | wc -l)"
    check "every answer kept Content-Length" "$framed of $CLIENTS" [ "$framed" -eq "$CLIENTS" ]
    marked="$(grep -li '^cache-status:' "$work"/clients/*.headers | wc -l)"
    check "every answer has Cache-Status" "$marked of $CLIENTS" [ "$marked" -eq "$CLIENTS" ]
}

origin_requests() {
    wc -l < "$work/origin/origin.log"
}

origin_was_asked_once() {
    [[ "$(origin_requests)" -eq 1 ]]
}

load_hits() {
    curl --silent --max-time 30 --output "$work/hit.body" --dump-header "$work/hit.headers" "$service_url/object/asset.bin"
    check "a later request is a hit" "$(grep -i '^cache-status:' "$work/hit.headers" | tr -d '\r')" \
        grep -qi '^cache-status:.*; *hit' "$work/hit.headers"
    check "the hit is the file" "$(wc -c < "$work/hit.body") bytes" cmp -s "$work/hit.body" "$work/origin/content/asset.bin"

    wrk --threads 1 --connections 16 --duration "${LOAD_SECONDS}s" --timeout 10s --script "$REPOSITORY/scripts/end-to-end/check-length.lua" \
        "$service_url/object/asset.bin" -- "$FILE_BYTES" > "$work/wrk.log" 2>&1
    check "hits under load without an error" "$(awk '/requests in/ { print $1 " requests" }' "$work/wrk.log")" load_was_clean
    check "the hits asked the origin nothing" "$(origin_requests) origin request in all" origin_was_asked_once
    check "service still answers /health" "after the load" is_healthy
}

load_was_clean() {
    grep -q '^Wrong answers: 0$' "$work/wrk.log" && grep -Eq '^ *[1-9][0-9]* requests in' "$work/wrk.log" \
        && ! grep -Eq 'Socket errors|Non-2xx' "$work/wrk.log"
}

check_shutdown() {
    check "SIGTERM ends the service in order" "exit status 0 within 15 s" end_in_order "$service_pid" 15
    service_pid=
    check "the service logged no failure" "$(grep -Ec "$FAILURE_LINE" "$work/service.log") found" has_no_failure "$work/service.log"
    if [[ $failed -gt 0 ]]; then
        echo "--- log of the service"
        tail -n 40 "$work/service.log"
    fi
}

main "$@"
