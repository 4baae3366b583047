#!/usr/bin/env bash
# The disk tier of the caching service on file systems of a few MiB that are really full: what is reserved stays writable, what cannot be
# reserved stops the start in one line, and where the kernel says ENOSPC later, objects are served all the same, byte for byte, and the log
# stays short. Prints one line per check and ends with "N passed, N failed, N skipped".
#
#   scripts/full-disk.sh [--no-build]
#
# Mounts tmpfs in a name space of its own, which needs root or user name spaces; where neither is allowed, it says so and skips the rest.
set -uo pipefail
REPOSITORY="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
# shellcheck source=checks.sh
source "$REPOSITORY/scripts/checks.sh"
[[ "$*" == *--help* ]] && show_help

readonly OBJECTS=150
readonly OBJECT_BYTES=100000
# From here on the disk still has them after all have been asked for.
readonly LATE=131
readonly SEGMENTS=16
readonly SEGMENT_BYTES=1048576

# The mounts go with the last process in the name space.
if [[ "${1:-}" != --mounted ]]; then
    for way in "--mount" "--user --map-root-user --mount"; do
        # shellcheck disable=SC2086
        if unshare $way mount -t tmpfs -o size=1m tmpfs /mnt 2> /dev/null; then
            # shellcheck disable=SC2086
            exec unshare $way "${BASH_SOURCE[0]}" --mounted "$@"
        fi
    done
    echo "skipped: this system lets nobody here mount a file system"
    echo "0 passed, 0 failed, 1 skipped"
    exit 0
fi
shift

work="$(mktemp -d)"
service_pid=
clean_up() {
    [[ -z "$service_pid" ]] || kill -KILL "$service_pid" 2> /dev/null
    wait 2> /dev/null
    umount "$work"/disk-* 2> /dev/null
    rm -rf "$work"
}
clean_up_at_the_end

main() {
    [[ "${1:-}" == --no-build ]] || build_service
    check_too_small
    check_reserved
    check_full_later
    finish
}

# make_disk NAME MIB: an empty file system in $disk.
make_disk() {
    disk="$work/disk-$1"
    mkdir "$disk"
    mount -t tmpfs -o "size=$2m,mode=700" tmpfs "$disk" || give_up "the file system $1 cannot be mounted"
}

# start_service SEGMENTS: on $disk, with little memory; sets service_pid, and url, demo and admin, its addresses.
start_service() {
    url="http://127.0.0.1:$(free_port)"
    admin="http://127.0.0.1:$(free_port)"
    "$REPOSITORY/samples/CachingService/bin/Release/net10.0/CachingService" --urls "$url" --Admin:Url "$admin" --Cache:MaxBytes=1MiB \
        --Cache:DiskPath="$disk" --Cache:DiskBytes=$(($1 * SEGMENT_BYTES)) --Cache:DiskSegmentBytes=$SEGMENT_BYTES > "$work/service.log" 2>&1 &
    service_pid=$!
    wait_until 20 is_up_or_gone
    demo="$(grep -o 'http://[^ ]* (embedded demo)' "$work/service.log" | cut -d ' ' -f 1)"
}

is_up_or_gone() {
    is_gone "$service_pid" || grep -q '(embedded demo)' "$work/service.log" # The last line of a start.
}

stop_service() {
    check "$1: the service ends in order" "SIGTERM" end_in_order "$service_pid" 20
    service_pid=
}

# get ROUND FIRST LAST: these objects through the cache, into a directory, with the heads in one file; sets from_disk.
get() {
    mkdir "$work/$1"
    curl --silent --max-time 60 --dump-header "$work/$1.heads" --output "$work/$1/#1" "$url/object/full-[$2-$3]?size=$OBJECT_BYTES&ttl=1h"
    from_disk="$(grep -c 'detail=disk' "$work/$1.heads")"
}

# The same bytes without the cache.
get_truth() {
    [[ -d "$work/truth" ]] || curl --silent --max-time 60 --create-dirs --output "$work/truth/#1" "$demo/full-[1-$OBJECTS]?size=$OBJECT_BYTES"
}

# is_right ROUND COUNT: so many objects, each as it should be.
is_right() {
    local name count=0
    for name in $(ls "$work/$1"); do
        cmp -s "$work/$1/$name" "$work/truth/$name" || return 1
        count=$((count + 1))
    done
    [[ $count -eq $2 && "$(stat --format %s "$work/truth/1")" -eq $OBJECT_BYTES ]]
}

figure() {
    curl --silent --max-time 5 "$admin/metrics" | grep "^$1 " | awk '{ print $2 }'
}

check_too_small() {
    make_disk small 4
    start_service $SEGMENTS
    local status=0
    wait "$service_pid" || status=$?
    service_pid=
    check "a disk that is smaller than DiskBytes stops the start" "exit status $status" test "$status" -ne 0
    check "with one line that names the option and the room" "$(cat "$work/service.log")" says_how_much_room
    check "and leaves nothing behind" "$(ls "$disk")" test "$(find "$disk" -name 'segment-*' | wc -l)" -eq 0
}

says_how_much_room() {
    [[ "$(wc -l < "$work/service.log")" -eq 1 ]] && grep -Eq 'Option Cache:DiskBytes: .*the disk has [0-9]+ bytes left' "$work/service.log"
}

# Somebody else takes all that is left, after the start.
check_reserved() {
    make_disk reserved 8
    start_service 4
    head -c 100M /dev/zero > "$disk/other" 2> /dev/null
    local left
    left="$(df --output=avail "$disk" | tail -n 1 | tr -d ' ')"
    check "the file system is full" "$left KiB left" test "$left" -eq 0
    get_truth
    get reserved-1 1 $OBJECTS
    get reserved-2 $LATE $OBJECTS
    check "reserved: every byte is the origin's" "$OBJECTS objects" is_right reserved-1 $OBJECTS
    check "reserved: also of what was asked for before" "$from_disk from the disk" is_right reserved-2 $((OBJECTS + 1 - LATE))
    check "reserved: objects come from the disk" "$from_disk objects" test "$from_disk" -gt 0
    check "reserved: objects were written" "$(figure cache_disk_demotions_total)" test "$(figure cache_disk_demotions_total)" -gt 0
    check "reserved: no write fails" "$(figure 'cache_disk_drops_total{reason="write-failed"}')" \
        test "$(figure 'cache_disk_drops_total{reason="write-failed"}')" -eq 0
    check "reserved: nothing above a warning was logged" "the service's log" has_no_failure "$work/service.log"
    stop_service reserved
}

# Files that have their length but not their room, as after a copy that made holes of zeros.
check_full_later() {
    make_disk holes 4
    local number
    for ((number = 0; number < SEGMENTS; number++)); do
        truncate -s $SEGMENT_BYTES "$disk/segment-$(printf '%05d' "$number")"
    done
    start_service $SEGMENTS
    get holes-1 1 $OBJECTS
    get holes-2 $LATE $OBJECTS
    check "full: every byte is the origin's" "$OBJECTS objects" is_right holes-1 $OBJECTS
    check "full: also of what was asked for before" "$from_disk from the disk" is_right holes-2 $((OBJECTS + 1 - LATE))
    check "full: what there was room for comes from the disk" "$from_disk objects" test "$from_disk" -gt 0
    local failures lines
    failures="$(figure 'cache_disk_drops_total{reason="write-failed"}')"
    lines="$(grep -c 'an object is dropped' "$work/service.log")"
    check "full: the kernel refuses room" "$failures writes" test "$failures" -gt 1
    check "full: the log says so once" "$lines lines; $(grep -m 1 -o 'an object is dropped.*' "$work/service.log")" said_once "$lines"
    check "full: a file without room for its headers is given up, once" "$(grep -c 'is deleted and not used any more' "$work/service.log") files" \
        test "$(grep 'is deleted and not used any more' "$work/service.log" | sort | uniq -d | wc -l)" -eq 0
    stop_service full

    start_service $SEGMENTS
    wait "$service_pid"
    check "full: a new process wants the room of the files that were given up" "$(cat "$work/service.log")" says_how_much_room
    start_service 2
    get holes-3 $LATE $OBJECTS
    check "full: one that wants less serves every byte right" "$from_disk from the disk" is_right holes-3 $((OBJECTS + 1 - LATE))
    stop_service "full, with less"
}

said_once() {
    [[ "$1" -eq 1 ]] && grep 'an object is dropped' "$work/service.log" | grep -q ENOSPC
}

main "$@"
