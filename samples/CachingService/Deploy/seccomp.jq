# Makes a seccomp profile for the caching service from the default one of Docker, Podman, Buildah or CRI-O:
#
#   jq -f seccomp.jq /usr/share/containers/seccomp.json > caching-service.json
#
# It allows io_uring. What a default profile makes depend on the container is decided for one without capabilities, on x86-64 or Arm64: containerd
# would otherwise allow it all, because its profiles have no conditions.
def io_uring: ["io_uring_enter", "io_uring_register", "io_uring_setup"];
{
  defaultAction,
  defaultErrnoRet: (.defaultErrnoRet // 1),
  architectures: ["SCMP_ARCH_X86_64", "SCMP_ARCH_AARCH64"],
  syscalls: ([
    .syscalls[]
    | select((.includes.caps // []) == [])
    | select((.includes.arches // ["amd64"]) | any(. == "amd64" or . == "arm64"))
    | .names -= io_uring
    | select(.names != [])
    | {names, action, args: (.args // []), errnoRet}
    | with_entries(select(.value != null))
  ] + [{names: io_uring, action: "SCMP_ACT_ALLOW", args: []}])
}
