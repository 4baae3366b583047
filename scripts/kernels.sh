#!/usr/bin/env bash
# Runs the ring's and the transport's tests on other kernels: Debian's cloud kernels in QEMU, with the tests and all they need in an
# initial RAM disk. Prints the tests that fail and one line of counts per kernel, and fails when a kernel fails.
#
#   scripts/kernels.sh [--filter CLASS] [--timeout MINUTES] [KERNEL...]      (default kernels 6.1 6.12, default time-out 60)
#
#   --filter CLASS      only the test classes whose full name matches, e.g. '*EchoTests'
#   --timeout MINUTES   how long one kernel may take
#   KERNEL              a version that Debian's stable suites or their backports have: 5.10 6.1 6.12 6.18 ...
#
# From 6.0 on a test that is skipped because io_uring is missing is a failure; older kernels show the fallback. Needs the .NET SDK, root or
# QEMU and busybox, and for the first run of a kernel Debian's archive through apt-get, whose own settings stay as they are. Kernels are
# kept in artifacts/kernels; remove a directory there to fetch a newer build.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly WORK="$PWD/artifacts/kernels"
readonly PROJECTS=(IoUringCache.Ring.Tests IoUringCache.Transport.Tests)
readonly SUITES=(bullseye bookworm trixie trixie-backports)
readonly OLDEST_SUPPORTED=6.0
readonly LEFT_OUT=(-namespace- '*.Refusals') # Processes under seccomp and limits, made with tools of the host.
readonly TRANSPORTS=io_uring
readonly DEADLINE_SECONDS=120 # Emulation is some twenty times slower.

kernels=()
timeout_minutes=60
runner_arguments=()
counts=() # one line per kernel that was run

main() {
    parse_arguments "$@"
    scripts/require-tools.sh qemu-system-x86_64 busybox cpio
    local kernel failed=0
    for kernel in "${kernels[@]}"; do
        fetch_kernel "$kernel"
    done
    build_image
    for kernel in "${kernels[@]}"; do
        echo "=== kernel $kernel"
        run_kernel "$kernel" || failed=1
    done
    printf '%s\n' "${counts[@]}"
    return "$failed"
}

give_up() {
    echo "$1" >&2
    exit 2
}

parse_arguments() {
    while [[ $# -gt 0 ]]; do
        case "$1" in
            --filter)
                [[ "${2:-}" =~ ^[[:alnum:]_.*]+$ ]] || give_up "--filter: expected a class name, * stands for anything"
                runner_arguments+=(-class "$2")
                shift 2
                ;;
            --timeout)
                [[ "${2:-}" =~ ^[1-9][0-9]*$ ]] || give_up "--timeout: expected minutes"
                timeout_minutes="$2"
                shift 2
                ;;
            --help)
                sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "${BASH_SOURCE[0]}"
                exit 0
                ;;
            -*) give_up "$1: unknown option; see --help" ;;
            *)
                [[ "$1" =~ ^[0-9]+\.[0-9]+$ ]] || give_up "$1: expected a kernel version like 6.1"
                kernels+=("$1")
                shift
                ;;
        esac
    done
    [[ ${#kernels[@]} -gt 0 ]] || kernels=(6.1 6.12)
}

# private_apt COMMAND...: apt's tools with settings, lists and cache of their own, which trust Debian's archive keys only.
private_apt() {
    local command="$1"
    shift
    "$command" -qq -o Dir::Etc::SourceList="$WORK/apt/sources.list" -o Dir::Etc::SourceParts=/dev/null -o Dir::State="$WORK/apt/state" \
        -o Dir::Cache="$WORK/apt/cache" -o APT::Sandbox::User=root -o APT::Architecture=amd64 \
        -o Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false -o Acquire::Languages=none "$@"
}

update_package_lists() {
    local suite
    mkdir -p "$WORK/apt/state/lists/partial" "$WORK/apt/cache/archives/partial"
    for suite in "${SUITES[@]}"; do
        echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] https://deb.debian.org/debian $suite main"
    done > "$WORK/apt/sources.list"
    private_apt apt-get update
}

# fetch_kernel KERNEL: leaves the newest build of that version as vmlinuz in its directory, unless one is there.
fetch_kernel() {
    local directory="$WORK/$1" package
    [[ ! -f "$directory/vmlinuz" ]] || return 0
    command -v apt-get > /dev/null || give_up "$1: kernels come from Debian's archive by apt-get, which is not here"
    update_package_lists
    package="$(private_apt apt-cache search --names-only "^linux-image-${1/./\\.}\..*-cloud-amd64$" | cut -d ' ' -f 1 | sort -V | tail -n 1)"
    [[ -n "$package" ]] || give_up "$1: no such cloud kernel in Debian's ${SUITES[*]}"
    echo "fetching $package"
    rm -rf "$directory"
    mkdir -p "$directory/package"
    (cd "$directory" && private_apt apt-get download "$package" && dpkg-deb --extract ./*.deb package)
    echo "${package#linux-image-}" > "$directory/release"
    cp "$directory"/package/boot/vmlinuz-* "$directory/vmlinuz"
    rm -rf "$directory"/package "$directory"/*.deb
}

# The initial RAM disk: the published tests with the runtime, the libraries they load, busybox and the first process.
build_image() {
    local project image="$WORK/image"
    rm -rf "$image"
    mkdir -p "$image"/{bin,dev,etc,proc,sys,tmp}
    for project in "${PROJECTS[@]}"; do
        echo "publishing $project"
        dotnet publish "tests/$project" --configuration Release --runtime linux-x64 --self-contained --nologo --verbosity quiet \
            --artifacts-path "$WORK/build" --output "$image/tests"
    done
    cp "$(command -v busybox)" "$image/bin/busybox"
    ln -s busybox "$image/bin/sh"
    cp scripts/kernels/init "$image/init"
    printf '127.0.0.1 localhost\n::1 localhost\n' > "$image/etc/hosts"
    copy_libraries "$image"
    (cd "$image" && find . | cpio --quiet --create --format newc) > "$WORK/image.cpio"
}

# What the runtime is linked with, and OpenSSL, which it looks for when it is needed.
copy_libraries() {
    local library
    {
        # A busybox that is linked with nothing is a failure to ldd.
        { ldd "$1"/bin/busybox "$1"/tests/*.so "$1/tests/${PROJECTS[0]}" 2> /dev/null || true; } | grep -o '/[^ ]*\.so[^ ]*' | grep -v "^$1"
        /sbin/ldconfig -p | grep -o '/.*/lib\(ssl\|crypto\)\.so\.3$'
    } | sort -u | while read -r library; do
        cp --parents --dereference "$library" "$1"
    done
}

# run_kernel KERNEL: boots it and counts; the whole console, with the start and end of every test, goes to console.log.
run_kernel() {
    local kernel="$1" directory="$WORK/$1" project ports=() results=() settings report failed=0 processor
    rm -f "$directory"/*.trx
    for project in "${PROJECTS[@]}"; do
        ports+=(-serial "file:$directory/$project.trx")
    done
    # Kernels allocate memory with cmpxchg16b, and QEMU 7.2 emulates it so that a boot dies of it now and then.
    processor=(-accel tcg -cpu "max,-cx16")
    # A device file alone does not mean that ordinary kernels run on it: that takes the processor's own virtualisation.
    if [[ -w /dev/kvm ]] && grep -qwE 'vmx|svm' /proc/cpuinfo; then
        processor=(-accel kvm -cpu host)
    fi
    settings="PROJECTS=\"${PROJECTS[*]}\" RUNNER_ARGUMENTS=\"${LEFT_OUT[*]} ${runner_arguments[*]}\" IOURING_REQUIRED=$(is_supported "$kernel" && echo 1)"
    settings+=" TEST_DEADLINE_SECONDS=$DEADLINE_SECONDS TEST_TRANSPORTS=$TRANSPORTS DOTNET_TieredPGO=0"
    timeout "${timeout_minutes}m" qemu-system-x86_64 "${processor[@]}" -smp 2 -m 2G -nodefaults -display none -no-reboot \
        -kernel "$directory/vmlinuz" -initrd "$WORK/image.cpio" -append "console=ttyS0 loglevel=4 panic=-1 $settings" \
        -serial stdio "${ports[@]}" < /dev/null | tee "$directory/console.log" | grep --line-buffered -vE '\] Time|\[STARTING\]'
    if [[ ${PIPESTATUS[0]} -eq 124 ]]; then
        echo "FAILED  ended after $timeout_minutes minutes, at: $(tail -n 1 "$directory/console.log")"
    fi
    for project in "${PROJECTS[@]}"; do
        # A filter may leave a project without tests; otherwise a result file without one is a failure.
        [[ ${#runner_arguments[@]} -ne 0 ]] && grep -q '<Counters total="0"' "$directory/$project.trx" || results+=("$directory/$project")
    done
    report="$(scripts/count-results.sh "${results[@]}")" || failed=1
    echo "$report"
    counts+=("$(cat "$directory/release"): ${report##*$'\n'}")
    return "$failed"
}

is_supported() {
    [[ "$(printf '%s\n' "$OLDEST_SUPPORTED" "$1" | sort -V | head -n 1)" == "$OLDEST_SUPPORTED" ]]
}

main "$@"
