#!/usr/bin/env bash
# Installs the named command-line tools, and modules of Debian's Python, where they are missing: scripts/require-tools.sh nginx python3-yaml
# Needs Debian's apt-get and root for that; otherwise it says what is missing and fails.
set -euo pipefail

package_of() {
    case "$1" in
        nghttp | h2load) echo nghttp2-client ;;
        node) echo nodejs ;;
        promtool) echo prometheus ;;
        qemu-system-x86_64) echo qemu-system-x86 ;;
        prlimit | setpriv) echo util-linux ;;
        systemd-analyze) echo systemd ;;
        *) echo "$1" ;;
    esac
}

is_there() {
    case "$1" in
        python3-*) /usr/bin/python3 -c "import ${1#python3-}" 2> /dev/null ;;
        *) command -v "$1" > /dev/null ;;
    esac
}

# nginx is in a directory that is not on everyone's path.
PATH="$PATH:/usr/sbin:/sbin"

missing=()
for tool in "$@"; do
    is_there "$tool" || missing+=("$(package_of "$tool")")
done
if [[ ${#missing[@]} -eq 0 ]]; then
    exit 0
fi
if [[ $(id -u) -ne 0 ]] || ! command -v apt-get > /dev/null; then
    echo "missing: ${missing[*]}; install with: sudo apt-get install ${missing[*]}" >&2
    exit 1
fi

echo "installing ${missing[*]}" >&2
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq >&2
apt-get install -y -qq --no-install-recommends "${missing[@]}" >&2
