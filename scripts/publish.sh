#!/usr/bin/env bash
# Publishes the echo server as programs that need no .NET on the machine, trimmed and with Native AOT, and the caching service as
# docs/operating.md says, and talks to them. Prints one line per check and ends with "N passed, N failed".
#
#   scripts/publish.sh
#
# Trimming and Native AOT must give no warning. Each echo server must serve on io_uring and send 1 MiB back unchanged, over TCP and over a
# Unix socket. Where the feed lacks the runtime of Native AOT, a line says so, and that is neither a pass nor a failure. The caching service
# must be compiled ahead (ReadyToRun), and answer.
#
# Needs the .NET SDK and python3, and for Native AOT a C compiler and the headers of zlib. Everything listens on loopback, and all files
# are in a temporary directory that is removed.
set -uo pipefail
export LC_ALL=C DOTNET_NOLOGO=1 DOTNET_CLI_TELEMETRY_OPTOUT=1 DOTNET_CLI_UI_LANGUAGE=en

readonly ECHO_BYTES=1048576
REPOSITORY="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
readonly REPOSITORY
# shellcheck source=checks.sh
source "$REPOSITORY/scripts/checks.sh"

server_pid=
work=

main() {
    parse_arguments "$@"
    "$REPOSITORY/scripts/require-tools.sh" python3 curl || give_up "a tool is missing"
    work="$(mktemp -d)"
    clean_up_at_the_end

    if publish EchoServer trimmed --use-current-runtime --self-contained -p:PublishTrimmed=true -p:TrimmerSingleWarn=false; then
        check_program trimmed
    else
        cat "$work/trimmed.log"
        check "the trimmed program can be published" "see above" false
    fi

    if publish EchoServer aot --use-current-runtime -p:PublishAot=true -p:TrimmerSingleWarn=false; then
        check_program aot
    elif grep -Eq 'NU110[1-3].*(NativeAOT|ILCompiler)' "$work/aot.log"; then
        echo "not run Native AOT: the package feed lacks $(grep -Eom 1 '[A-Za-z.]*(NativeAOT|ILCompiler)[A-Za-z0-9.-]*[a-z0-9]' "$work/aot.log")"
    else
        cat "$work/aot.log"
        check "the Native AOT program can be published" "see above" false
    fi

    if publish CachingService service; then
        check_service
    else
        cat "$work/service.log"
        check "the caching service can be published" "see above" false
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
    [[ -z "$server_pid" ]] || kill -KILL "$server_pid" 2> /dev/null
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

check_service() {
    local library=IoUringCache.Caching.dll
    check "service: compiled ahead" "$(stat -c %s "$work/service/$library") bytes of $library" is_compiled_ahead "$library"

    port="$(free_port)"
    "$work/service/CachingService" --urls "http://127.0.0.1:$port" --Admin:Url= --PublicReady true > "$work/service.out" 2>&1 &
    server_pid=$!
    if ! wait_until 20 is_ready_or_gone || is_gone "$server_pid"; then
        cat "$work/service.out"
        give_up "service: the program does not start"
    fi
    check "service: answers as soon as it is ready" "1,000 bytes of an object" has_object
    check "service: SIGTERM ends it in order" "exit status 0 within 15 s" end_in_order "$server_pid" 15
    server_pid=
    check "service: it logged no failure" "$(grep -c . "$work/service.out") lines of log" has_no_failure "$work/service.out"
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

has_object() {
    [[ "$(curl -s "http://127.0.0.1:$port/object/film?size=1000" | wc -c)" -eq 1000 ]]
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
