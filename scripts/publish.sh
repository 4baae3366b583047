#!/usr/bin/env bash
# Publishes the echo server as programs that need no .NET on the machine, trimmed and with Native AOT, and the caching service in both
# ways of docs/operating.md, and talks to them. Prints one line per check and ends with "N passed, N failed".
#
#   scripts/publish.sh
#
# Trimming and Native AOT must give no warning. Each echo server must serve on io_uring and send 1 MiB back unchanged, over TCP and over a
# Unix socket. Where the feed lacks the runtime of Native AOT, a line says so, and that is neither a pass nor a failure. Each caching service
# must be compiled ahead, answer by HTTP/1.1 and by HTTP/2 over TLS, and use its disk tier, its metrics and a log of purges.
#
# Needs the .NET SDK, python3, curl, openssl and nats-server, and for Native AOT a C compiler and the headers of zlib. Everything listens on
# loopback, and all files are in a temporary directory that is removed.
set -uo pipefail
export LC_ALL=C DOTNET_NOLOGO=1 DOTNET_CLI_TELEMETRY_OPTOUT=1 DOTNET_CLI_UI_LANGUAGE=en

readonly ECHO_BYTES=1048576
REPOSITORY="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
readonly REPOSITORY
# shellcheck source=checks.sh
source "$REPOSITORY/scripts/checks.sh"

server_pid=
nats_pid=
work=

main() {
    parse_arguments "$@"
    "$REPOSITORY/scripts/require-tools.sh" python3 curl openssl nats-server || give_up "a tool is missing"
    work="$(mktemp -d)"
    clean_up_at_the_end

    if publish EchoServer trimmed --use-current-runtime --self-contained -p:PublishTrimmed=true -p:TrimmerSingleWarn=false; then
        check_program trimmed
    else
        cat "$work/trimmed.log"
        check "the trimmed program can be published" "see above" false
    fi

    if publish_native EchoServer aot; then
        check_program aot
    fi

    prepare_service
    if publish CachingService service; then
        local library=IoUringCache.Caching.dll
        check "service: compiled ahead" "$(stat -c %s "$work/service/$library") bytes of $library" is_compiled_ahead "$library"
        check_service service
    else
        cat "$work/service.log"
        check "the caching service can be published" "see above" false
    fi

    if publish_native CachingService native-service; then
        check "native-service: no warning" "$(stat -c %s "$work/native-service/CachingService") bytes" has_no_warning "$work/native-service.log"
        check_service native-service
    fi
    finish
}

parse_arguments() {
    case "${1:-}" in
        '') ;;
        --help) show_help ;;
        *) give_up "$1: unknown option; see --help" ;;
    esac
}

clean_up() {
    local pid
    for pid in $server_pid $nats_pid; do
        kill -KILL "$pid" 2> /dev/null
    done
    wait 2> /dev/null
    [[ -n "$work" ]] && rm -rf "$work"
}

# publish SAMPLE NAME OPTION...: into a folder of that name. Built apart from the repository's own folders: a restore that fails would leave
# those of the libraries unusable.
publish() {
    local sample="$1" name="$2"
    shift 2
    echo "publishing $sample ($name)"
    dotnet publish "$REPOSITORY/samples/$sample" --configuration Release --artifacts-path "$work/artifacts-$name" \
        --output "$work/$name" --nologo --verbosity quiet "$@" > "$work/$name.log" 2>&1
}

# publish_native SAMPLE NAME: with Native AOT; false if there is nothing to check.
publish_native() {
    if publish "$1" "$2" --use-current-runtime -p:PublishAot=true -p:TrimmerSingleWarn=false; then
        return
    fi
    if grep -Eq 'NU110[1-3].*(NativeAOT|ILCompiler)' "$work/$2.log"; then
        echo "not run Native AOT: the package feed lacks $(grep -Eom 1 '[A-Za-z.]*(NativeAOT|ILCompiler)[A-Za-z0-9.-]*[a-z0-9]' "$work/$2.log")"
    else
        cat "$work/$2.log"
        check "$1 can be published with Native AOT" "see above" false
    fi
    return 1
}

check_program() {
    local name="$1" folder="$work/$1" started ready
    check "$name: no warning" "$(du -sh --exclude '*.pdb' --exclude '*.dbg' "$folder" | cut -f 1) in all" has_no_warning "$work/$name.log"

    port="$(free_port)"
    started="$EPOCHREALTIME"
    "$folder/EchoServer" --port "$port" --unix "$work/$name.socket" > "$work/$name.out" 2>&1 &
    server_pid=$!
    if ! wait_until 20 listens_or_is_gone || is_gone "$server_pid"; then
        cat "$work/$name.out"
        give_up "$name: the program does not start"
    fi
    ready="$EPOCHREALTIME"
    check "$name: runs on io_uring" "listens after $(((${ready/./} - ${started/./}) / 1000)) ms" grep -q 'IO backend: io_uring' "$work/$name.out"
    check "$name: sends $ECHO_BYTES bytes back over TCP" "SHA-256 compared" sends_back "$port"
    check "$name: sends $ECHO_BYTES bytes back over a Unix socket" "SHA-256 compared" sends_back "$work/$name.socket"
    check "$name: SIGTERM ends it in order" "exit status 0 within 15 s" end_in_order "$server_pid" 15
    server_pid=
    check "$name: it logged no failure" "$(grep -c . "$work/$name.out") lines of log" has_no_failure "$work/$name.out"
}

# What a service needs for all of it: a certificate and a log of purges.
prepare_service() {
    openssl req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=localhost -keyout "$work/key.pem" -out "$work/certificate.pem" 2> /dev/null \
        || give_up "openssl makes no certificate"
    nats_port="$(free_port)"
    nats-server -a 127.0.0.1 -p "$nats_port" -js -sd "$work/nats" > "$work/nats.out" 2>&1 &
    nats_pid=$!
}

check_service() {
    local name="$1" started ready
    port="$(free_port)"
    tls_port="$(free_port)"
    admin="http://127.0.0.1:$(free_port)"
    token="$(head -c 16 /dev/urandom | base64)"
    mkdir "$work/$name-disk"
    started="$EPOCHREALTIME"
    Admin__Token="$token" "$work/$name/CachingService" --urls "http://127.0.0.1:$port;https://127.0.0.1:$tls_port" \
        --Admin:Url "$admin" --PublicReady true \
        --Kestrel:Certificates:Default:Path="$work/certificate.pem" --Kestrel:Certificates:Default:KeyPath="$work/key.pem" \
        --Cache:DiskPath="$work/$name-disk" --Cache:Cluster:Nats="nats://127.0.0.1:$nats_port" --Cache:Cluster:Node="$name" \
        > "$work/$name.out" 2>&1 &
    server_pid=$!
    if ! wait_until 20 is_ready_or_gone || is_gone "$server_pid"; then
        cat "$work/$name.out"
        give_up "$name: the program does not start"
    fi
    ready="$EPOCHREALTIME"
    check "$name: answers as soon as it is ready" "1,000 bytes of an object, $(((${ready/./} - ${started/./}) / 1000)) ms after its start" \
        has_object --http1.1 "http://127.0.0.1:$port"
    check "$name: answers by HTTP/2 over TLS" "the same bytes" has_object --http2 --cacert "$work/certificate.pem" \
        --resolve "localhost:$tls_port:127.0.0.1" "https://localhost:$tls_port"
    check "$name: tells its figures" "of the disk tier and of HTTP/2 too" has_figures
    check "$name: purges by the log" "applied by all nodes" purges_by_the_log
    check "$name: SIGTERM ends it in order" "exit status 0 within 15 s" end_in_order "$server_pid" 15
    server_pid=
    check "$name: it logged no failure" "$(grep -c . "$work/$name.out") lines of log" has_no_failure "$work/$name.out"
}

# Native code makes an assembly more than twice as large as the one that it was made of.
is_compiled_ahead() {
    local built
    built="$(find "$work/artifacts-service/bin" -name "$1" -print -quit)"
    [[ "$(stat -c %s "$work/service/$1")" -gt $(("$(stat -c %s "$built")" * 2)) ]]
}

is_ready_or_gone() {
    curl -sf -o /dev/null "http://127.0.0.1:$port/ready" || is_gone "$server_pid"
}

# has_object OPTION... URL
has_object() {
    [[ "$(curl --silent "${@:1:$#-1}" "${!#}/object/film?size=1000" | wc -c)" -eq 1000 ]]
}

has_figures() {
    local figures
    figures="$(curl --silent --fail "$admin/metrics")"
    grep -q '^cache_disk_' <<< "$figures" && grep -q '^cache_hits_total 1$' <<< "$figures"
}

purges_by_the_log() {
    curl --silent --fail --request POST --header "Authorization: Bearer $token" "$admin/purge?all&wait=10s" > "$work/purge.json" \
        && grep -q '"sequence": [1-9]' "$work/purge.json"
}

has_no_warning() {
    ! grep -i 'warning' "$1"
}

sends_back() {
    timeout 60 "$REPOSITORY/scripts/publish/echo-client.py" "$1" "$ECHO_BYTES" > /dev/null
}

listens_or_is_gone() {
    (exec 3<> "/dev/tcp/127.0.0.1/$port") 2> /dev/null || is_gone "$server_pid"
}

main "$@"
