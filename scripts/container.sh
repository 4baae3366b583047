#!/usr/bin/env bash
# Builds the second stage of samples/CachingService/Deploy/Dockerfile with Buildah and runs it with Podman as Deploy/kubernetes.yml asks: with its
# settings, a seccomp profile of Deploy/seccomp.jq, a read-only file system, a user of its own, no capabilities, and a volume for the disk tier.
# Prints one line per check and ends with "N passed, N failed".
#
#   scripts/container.sh [FOLDER]
#
# FOLDER holds the service as published with Native AOT; without it the script publishes. It asks no registry: an image of this machine's libraries
# stands for Microsoft's base image. It does not check the first stage, which needs the network.
#
# Needs root, the .NET SDK with what Native AOT needs, buildah, podman (with its default profile), runc, jq and curl; on Debian it installs the
# last five. The container has the machine's network and listens on loopback, on free ports; images and files are in a temporary directory that is
# removed.
set -uo pipefail
export LC_ALL=C DOTNET_NOLOGO=1 DOTNET_CLI_TELEMETRY_OPTOUT=1

readonly USER_ID=1654
readonly DEFAULT_PROFILE=/usr/share/containers/seccomp.json
REPOSITORY="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
readonly REPOSITORY
readonly DEPLOY="$REPOSITORY/samples/CachingService/Deploy"
# shellcheck source=checks.sh
source "$REPOSITORY/scripts/checks.sh"

storage=()

main() {
    case "${1:-}" in
        --help) show_help ;;
        -*) give_up "$1: unknown option; see --help" ;;
    esac
    [[ $(id -u) -eq 0 ]] || give_up "run it as root"
    "$REPOSITORY/scripts/require-tools.sh" buildah podman runc jq curl || give_up "a tool is missing"
    work="$(mktemp -d)"
    clean_up_at_the_end
    storage=(--storage-driver vfs --root "$work/storage" --runroot "$work/run")
    build_image "${1:-}"
    make_volumes
    port="$(free_port)" admin_port="$(free_port)"

    check_default_profile
    check_service
    check_restart
    finish
}

clean_up() {
    [[ ${#storage[@]} -eq 0 ]] || engine rm --all --force > /dev/null 2>&1
    rm -rf "$work"
}

engine() {
    podman "${storage[@]}" --tmpdir "$work/libpod" "$@"
}

# build_image FOLDER
build_image() {
    local container base library final="$work/Dockerfile"
    mkdir -p "$work/build/app" "$work/base/etc/ssl/certs" "$work/base/tmp"
    if [[ -z "$1" ]]; then
        echo "publishing the caching service with Native AOT"
        dotnet publish "$REPOSITORY/samples/CachingService" --configuration Release --use-current-runtime -p:PublishAot=true \
            --artifacts-path "$work/artifacts" --output "$work/published" --nologo --verbosity quiet > "$work/publish.log" 2>&1 \
            || { cat "$work/publish.log"; give_up "the caching service cannot be published with Native AOT"; }
    fi
    cp "${1:-$work/published}"/{CachingService,appsettings.json} "$work/build/app" || give_up "this is no service published with Native AOT"

    # The libraries that the program is linked with, and those of TLS, which it loads.
    for library in /lib64/ld-linux-x86-64.so.2 $(ldd "$work/build/app/CachingService" | grep -o '/lib[^ ]*') \
        "$(ldconfig -p | grep -om 1 '/.*/libssl\.so\.3')" "$(ldconfig -p | grep -om 1 '/.*/libcrypto\.so\.3')"; do
        install -D "$(readlink --canonicalize "$library")" "$work/base$library"
    done
    cp /etc/ssl/certs/ca-certificates.crt "$work/base/etc/ssl/certs"
    echo "app:x:$USER_ID:$USER_ID::/:/bin/false" > "$work/base/etc/passwd"
    chmod 1777 "$work/base/tmp"

    sed -n '/^FROM .*chiseled/,$p' "$DEPLOY/Dockerfile" > "$final"
    base="$(sed -n 's/^FROM //p' "$final")"
    {
        container="$(buildah "${storage[@]}" from scratch)" \
            && buildah "${storage[@]}" copy "$container" "$work/base" / \
            && buildah "${storage[@]}" config --env "APP_UID=$USER_ID" "$container" \
            && buildah "${storage[@]}" commit --rm "$container" "$base" \
            && buildah "${storage[@]}" build --pull-never --build-context "build=$work/build" --file "$final" --tag caching-service "$work/build"
    } > "$work/build.log" 2>&1 || { cat "$work/build.log"; give_up "the image cannot be built"; }
    check "the image has a number for its user, as runAsNonRoot wants" \
        "$(($(engine image inspect --format '{{.Size}}' caching-service) / 1048576)) MiB" \
        test "$(engine image inspect --format '{{.User}}' caching-service)" == "$USER_ID"
}

# As Kubernetes makes them: a file of a ConfigMap or Secret is a link, and an empty volume belongs to root, with a group (fsGroup) that may write.
make_volumes() {
    mkdir -p "$work/settings/..2026" "$work/secret" "$work/cache"
    sed -n '/^  settings.json: |/,/^---/p' "$DEPLOY/kubernetes.yml" | sed '1d;$d;s/^    //' > "$work/settings/..2026/settings.json"
    ln -s ..2026 "$work/settings/..data"
    ln -s ..data/settings.json "$work/settings/settings.json"
    head -c 16 /dev/urandom | base64 > "$work/secret/token"
    chgrp "$USER_ID" "$work/secret/token" "$work/cache"
    chmod 440 "$work/secret/token"
    chmod 2775 "$work/cache"
    jq --from-file "$DEPLOY/seccomp.jq" "$DEFAULT_PROFILE" > "$work/profile.json" || give_up "jq makes no profile"
}

# run_service PROFILE OPTION...: in the background, by the name of service, with its embedded origin and one event loop. Its limits (ulimit) must
# not be above those of this process.
run_service() {
    local profile="$1"
    shift
    engine rm --force service > /dev/null 2>&1
    started="$EPOCHREALTIME"
    engine --runtime runc run --detach --name service --network host --log-driver k8s-file --memory 512m \
        --ulimit nofile=16384:16384 --ulimit nproc=4096:4096 \
        --user "$USER_ID:$USER_ID" --group-add "$USER_ID" --cap-drop all --security-opt no-new-privileges --security-opt "seccomp=$profile" \
        --read-only --read-only-tmpfs=false --volume "$work/settings:/etc/caching-service/settings:ro" \
        --volume "$work/secret:/etc/caching-service/secret:ro" --volume "$work/cache:/cache" \
        --env "Urls=http://127.0.0.1:$port" --env "Admin__Url=http://127.0.0.1:$admin_port" \
        --env Cache__Origin= --env Cache__DiskBytes=128MiB --env Cache__MaxBytes=64MiB --env DrainDelay=0s --env DOTNET_PROCESSOR_COUNT=1 \
        --env Logging__Console__FormatterName=Simple \
        caching-service --Settings=/etc/caching-service/settings/settings.json "$@" > "$work/run.log" 2>&1 \
        || { cat "$work/run.log"; give_up "Podman does not run the image"; }
    wait_until 20 curl --silent --fail --output /dev/null "http://127.0.0.1:$admin_port/ready" || { logs; give_up "the service is not ready"; }
    ready="$EPOCHREALTIME"
    process="/proc/$(engine inspect --format '{{.State.Pid}}' service)"
    age="$(awk -v ready="$(cut -d ' ' -f 1 /proc/uptime)" -v ticks="$(getconf CLK_TCK)" '{ print (ready - $22 / ticks) * 1000 }' "$process/stat")"
}

logs() {
    engine logs service 2>&1
}

# has_status NAME VALUE: of the process, as the kernel tells it.
has_status() {
    grep -Pq "^$1:\s*$2(\s|\$)" "$process/status"
}

# answers TEXT URL: with fields and body.
answers() {
    curl --silent --fail --include "$2" | grep -aq "$1"
}

# It ends in order when the engine stops it.
ends() {
    engine stop --time 15 service > /dev/null
    [[ "$(engine inspect --format '{{.State.ExitCode}}' service)" == 0 ]]
}

check_default_profile() {
    run_service "$DEFAULT_PROFILE" --Cache:DiskPath=
    check "with the engine's own profile it serves on sockets and says why" "$(logs | grep -om 1 'io_uring_setup [^;)]*')" \
        grep -q 'IO backend: sockets (io_uring' <(logs)
    check "SIGTERM ends it" "exit status 0" ends
}

check_service() {
    run_service "$work/profile.json" --Transport=IoUring
    check "with the profile for it the service is on io_uring" "$(logs | grep -o 'io_uring (.*')" grep -q 'IO backend: io_uring (1 loop' <(logs)
    check "it is ready" "at most $age ms after its start, $(((${ready/./} - ${started/./}) / 1000)) ms after that of podman run" \
        answers OK "http://127.0.0.1:$admin_port/ready"
    check "it is healthy" "by the public address" answers OK "http://127.0.0.1:$port/health"
    check "an object is a miss" "10,000 bytes" answers 'fwd=uri-miss' "http://127.0.0.1:$port/object/film?size=10000&ttl=60s"
    check "and then a hit" "10,000 bytes" answers 'CachingService; hit; ttl=' "http://127.0.0.1:$port/object/film?size=10000&ttl=60s"
    check "it is a user of its own" "$USER_ID" has_status Uid "$USER_ID"
    check "it has no capability, and gets none" "$(grep -E '^Cap(Prm|Bnd)' "$process/status" | tr -s '\t\n' ' ')" has_no_rights
    check "its system calls are filtered" "$(jq '[.syscalls[] | select(.action == "SCMP_ACT_ALLOW").names[]] | length' "$work/profile.json") names allowed" \
        has_status Seccomp 2
    check "its file system is read-only" "but for /cache" grep -Eq '^[^ ]+ / [^ ]+ ro,' "$process/mounts"
    check "its files on a volume of a group are its own" "$(stat -c '%A %u' "$work/cache/objects")" \
        test "$(stat -c '%u %a' "$work/cache/objects" | sed 's/ 2/ /')" == "$USER_ID 700"
    check "its memory is that of a native program" "$(awk '/^VmRSS/ { print $2 / 1024 }' "$process/status") MiB resident" has_little_memory
    check "SIGTERM lets an answer in progress end" "300,000 bytes, exit status 0" drains
    check "it logged no failure" "$(logs | grep -c .) lines" has_no_failure <(logs)
}

# A body that takes two seconds is whole although the engine stops the service after its first bytes.
drains() {
    local client status=0
    curl --silent "http://127.0.0.1:$port/object/slow?size=300000&chunk=30000&interval=200ms" > "$work/slow" &
    client=$!
    wait_until 10 test -s "$work/slow"
    [[ $(stat -c %s "$work/slow") -lt 300000 ]] && ends || status=1
    wait "$client" && [[ $(stat -c %s "$work/slow") -eq 300000 && $status -eq 0 ]]
}

has_no_rights() {
    has_status CapPrm 0000000000000000 && has_status CapBnd 0000000000000000 && has_status NoNewPrivs 1
}

has_little_memory() {
    [[ $(awk '/^VmRSS/ { print $2 }' "$process/status") -lt 81920 ]]
}

check_restart() {
    run_service "$work/profile.json"
    check "the next one finds the object on the volume" "saved by the drain" \
        answers 'hit; ttl=.*detail=disk' "http://127.0.0.1:$port/object/film?size=10000&ttl=60s"
    check "SIGTERM ends it too" "exit status 0" ends
    check "it logged no failure" "$(logs | grep -c .) lines" has_no_failure <(logs)
}

main "$@"
