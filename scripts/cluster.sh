#!/usr/bin/env bash
# A whole cluster on this machine: three nodes and two shields behind two HAProxies of samples/CachingService/Deploy/haproxy.cfg, NATS with
# JetStream between them, nginx as the origin. Under a load of which every byte is compared, nodes are drained, killed and cut off, and NATS and
# HAProxy are restarted. Prints one line per check, with figures, and ends with "N passed, N failed".
#
#   scripts/cluster.sh [--seconds S] [--objects N] [--seed N] [--loopback] [--no-build]
#                                                               (defaults 8, 3000, 1; a soak: --seconds 60 --objects 5000)
#
# Needs the .NET SDK, python3, haproxy, nats-server and nginx; as root on Debian it installs the last three. Where it may make network namespaces,
# each node has one, and a partition loses packets; elsewhere, and with --loopback, everything listens on loopback and a partition closes
# connections. All of it is stopped at the end; files are in a temporary directory that is removed.
set -uo pipefail
export LC_ALL=C PATH="$PATH:/usr/sbin:/sbin"

REPOSITORY="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
readonly REPOSITORY
# shellcheck source=checks.sh
source "$REPOSITORY/scripts/checks.sh"

builds=1
namespaces=1
work=
runner=

main() {
    local options=()
    while [[ $# -gt 0 ]]; do
        case "$1" in
            --seconds | --objects | --seed)
                [[ "${2:-}" =~ ^[1-9][0-9]*$ ]] || give_up "$1: expected a whole number from 1 on"
                options+=("$1" "$2")
                shift 2
                ;;
            --loopback)
                namespaces=0
                shift
                ;;
            --no-build)
                builds=0
                shift
                ;;
            --help) show_help ;;
            *) give_up "$1: unknown option; see --help" ;;
        esac
    done
    "$REPOSITORY/scripts/require-tools.sh" haproxy nats-server nginx || give_up "a tool is missing"
    work="$(mktemp -d)"
    clean_up_at_the_end
    [[ $builds -eq 0 ]] || build_service
    local enter=()
    if [[ $namespaces -eq 1 ]] && may_make_namespaces; then
        enter=(unshare --net)
        options+=(--in-namespaces)
    fi
    PYTHONPATH="$REPOSITORY/scripts/cluster" "${enter[@]}" python3 "$REPOSITORY/scripts/cluster/run.py" "$REPOSITORY" "$work" "${options[@]}" &
    runner=$!
    wait "$runner"
}

# A namespace in another one, with a pair of links between them.
may_make_namespaces() {
    unshare --net bash -c 'ip link add hub type bridge && ip link add one type veth peer name other && unshare --net true' 2> /dev/null
}

clean_up() {
    [[ -z "$runner" ]] || kill -TERM "$runner" 2> /dev/null
    wait 2> /dev/null
    [[ -n "$work" ]] && rm -rf "$work"
}

main "$@"
