#!/usr/bin/env python3
"""Runs a command under a seccomp filter that answers some system calls with an error, as a container's profile does.

    scripts/deny-system-calls.py ERROR CALL[,CALL...] COMMAND [ARGUMENT...]
    scripts/deny-system-calls.py EPERM io_uring_setup dotnet EchoServer.dll

ERROR is a name of errno(3), CALL one of io_uring_setup, io_uring_enter, io_uring_register and openat2. The filter holds for the command and all
that it starts, and needs no privilege. Linux only; the numbers of these calls are the same on every architecture that .NET runs on.
"""
import ctypes
import errno
import os
import struct
import sys

CALLS = {"io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427, "openat2": 437}

PR_SET_SECCOMP = 22
PR_SET_NO_NEW_PRIVS = 38
SECCOMP_MODE_FILTER = 2
SECCOMP_RET_ERRNO = 0x00050000
SECCOMP_RET_ALLOW = 0x7FFF0000

# Instructions of the classic packet filter: BPF_LD|BPF_W|BPF_ABS, BPF_JMP|BPF_JEQ|BPF_K, BPF_RET|BPF_K.
LOAD_WORD = 0x20
JUMP_IF_EQUAL = 0x15
RETURN = 0x06
NUMBER_OFFSET = 0  # of the system call's number in struct seccomp_data


class Program(ctypes.Structure):
    """struct sock_fprog"""

    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_char_p)]


def instruction(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, value)


def compile_filter(numbers: list[int], error: int) -> bytes:
    code = instruction(LOAD_WORD, NUMBER_OFFSET)
    for number in numbers:
        code += instruction(JUMP_IF_EQUAL, number, if_true=0, if_false=1)
        code += instruction(RETURN, SECCOMP_RET_ERRNO | error)
    return code + instruction(RETURN, SECCOMP_RET_ALLOW)


def check(result: int) -> None:
    if result != 0:
        sys.exit(f"deny-system-calls.py: prctl: {os.strerror(ctypes.get_errno())}")


def main() -> None:
    if len(sys.argv) < 4 or not hasattr(errno, sys.argv[1]) or not set(sys.argv[2].split(",")) <= CALLS.keys():
        sys.exit(__doc__)

    code = compile_filter([CALLS[name] for name in sys.argv[2].split(",")], getattr(errno, sys.argv[1]))
    libc = ctypes.CDLL(None, use_errno=True)
    check(libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
    program = Program(len(code) // len(instruction(0, 0)), code)
    check(libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0))
    os.execvp(sys.argv[3], sys.argv[3:])


if __name__ == "__main__":
    main()
