#!/usr/bin/env bash
# Two caching services behind each other, nginx as the origin of the inner one: what a cache owes to another cache. Clients are curl, and
# h2load for HTTP/2 without and with TLS. Prints one line per check and ends with "N passed, N failed".
#
#   scripts/two-tiers.sh [--transport IoUring|Sockets|Auto] [--no-build]      (default IoUring)
#
# Needs the .NET SDK, nginx, curl, h2load and openssl; as root on Debian it installs the last four. Everything listens on loopback, on free
# ports, and is stopped at the end; files are in a temporary directory that is removed.
set -uo pipefail
export LC_ALL=C PATH="$PATH:/usr/sbin:/sbin"

readonly LIVE_BYTES=1345292
readonly RATE_BYTES=450000 # about 3 s for a live file
readonly CLIENTS=20
readonly PAGE_BYTES=100000
readonly LOAD_REQUESTS=1000
readonly JOIN_REQUESTS=60
REPOSITORY="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
readonly REPOSITORY
# shellcheck source=checks.sh
source "$REPOSITORY/scripts/checks.sh"

transport=IoUring
builds=1
origin_pid=
inner_pid=
inner_admin=
outer_pid=
outer_admin=
client_pids=()
work=

main() {
    parse_arguments "$@"
    "$REPOSITORY/scripts/require-tools.sh" nginx curl h2load openssl || give_up "a tool is missing"
    work="$(mktemp -d)"
    Admin__Token="$(openssl rand -hex 16)"
    export Admin__Token
    clean_up_at_the_end

    [[ $builds -eq 0 ]] || build_service
    make_content
    start_origin
    start_inner
    start_outer
    check_signs
    check_age
    check_answers
    check_fan_out
    check_invalidation
    check_tags
    check_http2
    check_broken
    check_failures
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
            --no-build)
                builds=0
                shift
                ;;
            --help) show_help ;;
            *) give_up "$1: unknown option; see --help" ;;
        esac
    done
}

clean_up() {
    local pid
    for pid in "${client_pids[@]}" $outer_pid $inner_pid $origin_pid; do
        kill -KILL "$pid" 2> /dev/null
    done
    wait 2> /dev/null
    [[ -n "$work" ]] && rm -rf "$work"
}

make_content() {
    local content="$work/origin/content" name
    mkdir -p "$content" "$work/origin/temp"
    for name in live-fan-out live-http2 live-broken; do
        head -c "$LIVE_BYTES" /dev/urandom > "$content/$name"
    done
    for name in signs aged page tagged; do
        head -c "$PAGE_BYTES" /dev/urandom > "$content/$name"
    done
    printf 'first' > "$content/note"
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout "$work/key.pem" -out "$work/certificate.pem" \
        -days 2 -subj /CN=localhost -addext subjectAltName=IP:127.0.0.1 2> "$work/openssl.log" \
        || { cat "$work/openssl.log"; give_up "openssl made no certificate"; }
}

start_origin() {
    : > "$work/origin/origin.log"
    start_nginx "$REPOSITORY/scripts/two-tiers/nginx.conf" "$RATE_BYTES"
}

start_inner() {
    inner="http://127.0.0.1:$(free_port)"
    start_service inner --urls "$inner" --Cache:Origin "http://127.0.0.1:$origin_port" --Cache:ForwardTagsTo 127.0.0.1 \
        --Cache:Name Shield
    inner_pid=$service_pid
    inner_admin="$service_admin"
    wait_for_service inner "$inner"
}

# Three addresses of one cache: HTTP/1.1, HTTP/2 with prior knowledge, and TLS with either.
start_outer() {
    local ports=() port
    while [[ ${#ports[@]} -lt 3 ]]; do
        port="$(free_port)"
        [[ " ${ports[*]} " == *" $port "* ]] || ports+=("$port")
    done
    outer="http://127.0.0.1:${ports[0]}"
    outer_h2c="http://127.0.0.1:${ports[1]}"
    outer_tls="https://127.0.0.1:${ports[2]}"
    start_service outer --Cache:Origin "$inner/object" \
        --Kestrel:Endpoints:Plain:Url "$outer" --Kestrel:Endpoints:Plain:Protocols Http1 \
        --Kestrel:Endpoints:PriorKnowledge:Url "$outer_h2c" --Kestrel:Endpoints:PriorKnowledge:Protocols Http2 \
        --Kestrel:Endpoints:Tls:Url "$outer_tls" \
        --Kestrel:Certificates:Default:Path "$work/certificate.pem" --Kestrel:Certificates:Default:KeyPath "$work/key.pem"
    outer_pid=$service_pid
    outer_admin="$service_admin"
    wait_for_service outer "$outer"
}

# start_service NAME OPTION...: sets service_pid and service_admin.
start_service() {
    local name="$1"
    shift
    service_admin="http://127.0.0.1:$(free_port)"
    dotnet "$REPOSITORY/samples/CachingService/bin/Release/net10.0/CachingService.dll" \
        --Admin:Url "$service_admin" --Transport "$transport" "$@" > "$work/$name.log" 2>&1 &
    service_pid=$!
}

wait_for_service() {
    if ! wait_until 20 is_healthy_or_gone "$2" "$service_pid" || is_gone "$service_pid"; then
        tail -n 20 "$work/$1.log"
        give_up "the $1 caching service did not start"
    fi
    check "the $1 service is up" "$(grep -o 'IO backend: .*' "$work/$1.log" || echo "no line about the back end")" is_healthy "$2"
}

is_healthy_or_gone() {
    is_healthy "$1" || is_gone "$2"
}

is_healthy() {
    [[ "$(curl --silent --max-time 5 "$1/health")" == OK ]]
}

# get URL [CURL-OPTION...]: leaves body, head and exit status of curl in $work/got.*, and what follows is asked of those.
get() {
    local url="$1"
    shift
    : > "$work/got.body"
    curl --silent --max-time 30 --cacert "$work/certificate.pem" --output "$work/got.body" --dump-header "$work/got.head" "$@" "$url"
    got_exit=$?
}

# field NAME: the field's lines in the last answer, joined as one list.
field() {
    tr -d '\r' < "$work/got.head" | grep -i "^$1:" | sed 's/^[^:]*: *//' | paste -sd, | sed 's/,\([^ ]\)/, \1/g'
}

# The last one: an upload has a 100 before it.
status() {
    awk '/^HTTP\// { status = $2 } END { print status }' "$work/got.head"
}

# has STATUS PATTERN: the last answer's status, and an extended regular expression that all of its Cache-Status matches.
has() {
    [[ "$(status)" == "$1" ]] && grep -Eqx "$2" <<< "$(field Cache-Status)"
}

told() {
    echo "$(status); $(field Cache-Status)"
}

is_file() {
    cmp -s "$work/got.body" "$work/origin/content/$1"
}

origin_requests() {
    grep -c "\"GET /$1 " "$work/origin/origin.log"
}

check_signs() {
    get "$outer/object/signs"
    check "a miss in both tiers says so twice" "$(told)" \
        has 200 'Shield; fwd=uri-miss; fwd-status=200; stored, CachingService; fwd=uri-miss; fwd-status=200; stored'
    check "the body is the origin's" "$PAGE_BYTES bytes" is_file signs
    check "the answer's Via names both, the inner one first" "$(field Via)" via_names_both
    check "the request's Via names both, the outer one first" "$(grep -o 'via=.*' "$work/origin/origin.log")" request_named_both
    get "$outer/object/signs"
    check "a hit in the outer tier keeps what the inner one said" "$(told)" \
        has 200 'Shield; fwd=uri-miss; fwd-status=200; stored, CachingService; hit; ttl=[0-9]+'
}

via_names_both() {
    local first second
    IFS=', ' read -r _ first _ second <<< "$(field Via)"
    [[ "$first" == shield-* && "$second" == cachingservice-* ]]
}

request_named_both() {
    local first second
    IFS=', ' read -r _ first _ second <<< "$(field Via)"
    wait_until 5 grep -qF "via=\"1.1 $second, 1.1 $first\"" "$work/origin/origin.log"
}

# The object is some seconds old in the inner tier before the outer one asks for it; the outer one's own seconds come on top.
check_age() {
    get "$inner/object/aged"
    sleep 2.1
    get "$outer/object/aged"
    local at_first
    at_first="$(field Age)"
    check "a hit in the inner tier is the nearest to the origin in Cache-Status" "$(told)" \
        has 200 'Shield; hit; ttl=[0-9]+, CachingService; fwd=uri-miss; fwd-status=200; stored'
    check "the outer tier's miss tells the inner one's age" "${at_first:-none} s" test "${at_first:-0}" -ge 2 -a "${at_first:-0}" -lt 20
    sleep 1.1
    get "$outer/object/aged"
    check "the ages of both tiers add up" "$(field Age) s" test "$(field Age)" -gt "$at_first"
    local left
    left="$(grep -o 'hit; ttl=[0-9]*$' <<< "$(field Cache-Status)" | tr -dc 0-9)"
    check "what is left of the lifetime is what the age has not taken" "$(field Age) s + ${left:-none} s of 600 s" \
        test $(($(field Age) + ${left:-0})) -ge 599 -a $(($(field Age) + ${left:-0})) -le 600
    check "one request to the origin for both" "$(origin_requests aged) seen" test "$(origin_requests aged)" -eq 1
}

check_answers() {
    get "$outer/object/signs"
    local tag modified
    tag="$(field ETag)"
    modified="$(field Last-Modified)"
    get "$outer/object/signs" --header "If-None-Match: $tag"
    check "the tag's owner gets 304" "$(status), $tag, $(wc -c < "$work/got.body") bytes" is_not_modified "$tag"
    get "$outer/object/signs" --header "If-Modified-Since: $modified"
    check "who has the date gets 304" "$(status), $modified" is_not_modified "$tag"
    get "$outer/object/signs" --header 'If-None-Match: "other"'
    check "another tag gets the object" "$(status)" is_file signs

    get "$outer/object/signs" --range 1000-1999
    check "a range is the slice" "$(status), $(field Content-Range)" is_slice 1000 1000
    get "$outer/object/signs" --range -500
    check "the last bytes are the last bytes" "$(status), $(field Content-Range)" is_slice $((PAGE_BYTES - 500)) 500
    get "$outer/object/signs" --range $PAGE_BYTES-
    check "a range behind the end is 416" "$(status), $(field Content-Range)" test "$(status) $(field Content-Range)" == "416 bytes */$PAGE_BYTES"
    get "$outer/object/signs" --head
    check "HEAD has the length and no body" "$(status), $(field Content-Length)" test "$(status) $(field Content-Length)" == "200 $PAGE_BYTES"
    check "none of these reached the origin" "$(origin_requests signs) request" test "$(origin_requests signs)" -eq 1
}

is_not_modified() {
    [[ "$(status)" == 304 && "$(field ETag)" == "$1" && ! -s "$work/got.body" ]]
}

is_slice() {
    [[ "$(status)" == 206 ]] && cmp -s "$work/got.body" <(tail -c +$(($1 + 1)) "$work/origin/content/signs" | head -c "$2")
}

# The clients come one after the other while the origin sends.
check_fan_out() {
    mkdir "$work/clients"
    local client equal sum
    for ((client = 0; client < CLIENTS; client++)); do
        curl --silent --no-buffer --max-time 60 --output "$work/clients/$client.body" "$outer/object/live-fan-out" &
        client_pids+=($!)
        sleep 0.01
    done
    check "bytes pass through both tiers while the origin sends" "$CLIENTS clients" every_client_has_bytes_early
    wait "${client_pids[@]}"
    client_pids=()
    sum="$(sha256sum < "$work/origin/content/live-fan-out")"
    equal="$(for body in "$work"/clients/*.body; do sha256sum < "$body"; done | grep -cxF -- "$sum")"
    check "every client's SHA-256 is the file's" "$equal of $CLIENTS" test "$equal" -eq $CLIENTS
    wait_until 10 was_asked_for live-fan-out
    check "one request to the origin for all of them" "$(origin_requests live-fan-out) seen" test "$(origin_requests live-fan-out)" -eq 1
}

# nginx logs an answer when it has ended. The order matters: first all files have bytes, and only then is the origin seen to be at work.
every_client_has_bytes_early() {
    wait_until 10 every_client_has_bytes && ! was_asked_for live-fan-out
}

every_client_has_bytes() {
    [[ "$(find "$work/clients" -name '*.body' -size +0 | wc -l)" -eq $CLIENTS ]]
}

was_asked_for() {
    [[ "$(origin_requests "$1")" -gt 0 ]]
}

check_invalidation() {
    get "$outer/object/note"
    get "$outer/object/note"
    check "the note is stored" "$(told)" has 200 '.*, CachingService; hit; ttl=[0-9]+'
    printf 'second' > "$work/second"
    get "$outer/object/note" --upload-file "$work/second"
    check "PUT goes through both tiers to the origin" "$(told)" \
        has 204 'Shield; fwd=method; fwd-status=204, CachingService; fwd=method; fwd-status=204'
    get "$outer/object/note"
    check "and removes the note from both" "$(told); $(cat "$work/got.body")" is_second_note
    get "$outer/object/note" --request DELETE
    get "$outer/object/note"
    check "what is deleted is not found" "$(told)" \
        has 404 'Shield; fwd=uri-miss; fwd-status=404.*, CachingService; fwd=uri-miss; fwd-status=404.*'
}

is_second_note() {
    has 200 'Shield; fwd=uri-miss; fwd-status=200; stored, CachingService; fwd=uri-miss; fwd-status=200; stored' \
        && cmp -s "$work/got.body" "$work/second"
}

# The inner tier passes tags on to the outer one, which passes them on to nobody.
check_tags() {
    get "$outer/object/tagged"
    check "a client is not told the tags" "Surrogate-Key: $(field Surrogate-Key)" test -z "$(field Surrogate-Key)"
    purge "$outer_admin" 'tag=caf%C3%A9'
    check "a purge by tag at the outer tier hits the object" "$(told_purge)" has_purged 1
    get "$outer/object/tagged"
    check "and has it ask the inner tier, which has the object" "$(told)" \
        has 200 'Shield; hit; ttl=[0-9]+, CachingService; fwd=uri-miss; fwd-status=200; stored'
    purge "$outer_admin" tag=page
    check "a purge that hits nothing says so" "$(told_purge)" has_purged 0
    purge "$inner_admin" tag=pages
    check "a purge by tag at the inner tier hits the object there" "$(told_purge)" has_purged 1
    purge "$outer_admin" tag=pages
    get "$outer/object/tagged"
    check "purged in both, the inner one first, it comes from the origin" "$(told)" \
        has 200 'Shield; fwd=uri-miss; fwd-status=200; stored, CachingService; fwd=uri-miss; fwd-status=200; stored'
    check "two requests to the origin for all of this" "$(origin_requests tagged) seen" test "$(origin_requests tagged)" -eq 2
}

# purge ADMIN-URL QUERY: leaves the answer in $work/purged.
purge() {
    curl --silent --max-time 30 --request POST --header "Authorization: Bearer $Admin__Token" --output "$work/purged" "$1/purge?$2"
}

told_purge() {
    tr -d '\n' < "$work/purged" | tr -s ' '
}

# has_purged OBJECTS
has_purged() {
    grep -Eq "\"objects\": $1," "$work/purged"
}

check_http2() {
    get "$outer_tls/object/page" --http2
    check "ALPN chooses HTTP/2" "$(awk 'NR == 1 { print $1 }' "$work/got.head")" test "$(awk 'NR == 1 { print $1 }' "$work/got.head")" == HTTP/2
    check "TLS changes no byte" "$PAGE_BYTES bytes" is_file page
    get "$outer_tls/object/page" --http1.1
    check "HTTP/1.1 through TLS finds what HTTP/2 had stored" "$(told)" has 200 '.*, CachingService; hit; ttl=[0-9]+'
    get "$outer/object/page"
    check "and so does the address without TLS" "$(told)" has 200 '.*, CachingService; hit; ttl=[0-9]+'

    load "h2c: every hit has its status and bytes" "$outer_h2c/object/page" $LOAD_REQUESTS $PAGE_BYTES h2c
    load "TLS: every hit has its status and bytes" "$outer_tls/object/page" $LOAD_REQUESTS $PAGE_BYTES h2
    check "the hits asked the origin nothing" "$(origin_requests page) request in all" test "$(origin_requests page)" -eq 1
    load "TLS: every client of a fill in flight has its status and bytes" "$outer_tls/object/live-http2" $JOIN_REQUESTS $LIVE_BYTES h2
    check "one request to the origin for all of them" "$(origin_requests live-http2) seen" test "$(origin_requests live-http2)" -eq 1
}

# load NAME URL REQUESTS BYTES PROTOCOL: one check of the answers' number, statuses, and bytes of all bodies together.
load() {
    h2load --requests "$3" --clients 10 --max-concurrent-streams 10 --connection-active-timeout=30 "$2" > "$work/h2load.log" 2>&1
    check "$1" "$(grep -h '^status codes\|^traffic' "$work/h2load.log" | paste -sd' ')" load_was_clean "$3" "$4" "$5"
}

load_was_clean() {
    grep -qx "Application protocol: $3" "$work/h2load.log" \
        && grep -qx "requests: $1 total, $1 started, $1 done, $1 succeeded, 0 failed, 0 errored, 0 timeout" "$work/h2load.log" \
        && grep -qx "status codes: $1 2xx, 0 3xx, 0 4xx, 0 5xx" "$work/h2load.log" \
        && grep -q "($(($1 * $2))) data\$" "$work/h2load.log"
}

# The origin dies while it sends: everybody sees it, whatever the version.
check_broken() {
    local version
    for version in --http1.1 --http2; do
        curl --silent --max-time 30 --cacert "$work/certificate.pem" $version --no-buffer --output "$work/broken$version" \
            "$outer_tls/object/live-broken" &
        client_pids+=($!)
    done
    wait_until 10 test -s "$work/broken--http1.1" -a -s "$work/broken--http2"
    kill -KILL "$origin_pid"
    wait "$origin_pid" 2> /dev/null
    for version in HTTP/1.1 HTTP/2; do
        wait "${client_pids[0]}"
        got_exit=$?
        client_pids=("${client_pids[@]:1}")
        check "a body that breaks at the origin is cut behind both tiers on $version" "curl's exit status $got_exit" \
            test $got_exit -ne 0 -a $got_exit -ne 28
    done
}

check_failures() {
    get "$outer/object/never-asked"
    check "what neither tier has is 502 without an origin, and not kept" "$(told); $(field Cache-Control)" is_not_to_be_had
    get "$outer/object/live-broken"
    check "the broken body was stored by neither" "$(told)" test "$(status)" == 502
    kill -KILL "$inner_pid"
    wait "$inner_pid" 2> /dev/null
    inner_pid=
    get "$outer/object/page"
    check "what the outer tier has is a hit without the inner one" "$(told)" has 200 '.*, CachingService; hit; ttl=[0-9]+'
    get "$outer/object/never-asked"
    check "what it has not is 502" "$(told)" has 502 'CachingService; detail=origin-unreachable'
}

is_not_to_be_had() {
    has 502 'Shield; detail=origin-unreachable, CachingService; fwd=uri-miss; fwd-status=502.*' && [[ "$(field Cache-Control)" == no-store ]]
}

check_shutdown() {
    check "SIGTERM ends the outer service in order" "exit status 0 within 15 s" end_in_order "$outer_pid" 15
    outer_pid=
    local name
    for name in inner outer; do
        check "the $name service logged no failure" "$(grep -Ec "$FAILURE_LINE" "$work/$name.log") found" \
            has_no_failure "$work/$name.log"
    done
    if [[ $failed -gt 0 ]]; then
        tail -n 20 "$work/inner.log" "$work/outer.log"
    fi
}

main "$@"
