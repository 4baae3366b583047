using System.Runtime.InteropServices;

namespace IoUringCache.Ring.Native;

/// <summary>Every function of the C library that the repository calls, with blittable arguments. Any thread.</summary>
/// <remarks>
/// Functions that can fail return -1 and set errno. None suppresses the GC transition, because a thread that blocks in
/// <c>io_uring_enter</c> would then block every collection. The declarations are valid on 64-bit Linux only.
/// </remarks>
internal static unsafe partial class Libc
{
    private const string Library = "libc";

    [LibraryImport(Library, EntryPoint = "syscall", SetLastError = true)]
    internal static partial nint SystemCall(
        nint number, nint first, nint second, nint third, nint fourth, nint fifth, nint sixth);

    [LibraryImport(Library, EntryPoint = "mmap", SetLastError = true)]
    internal static partial nint Map(nint address, nuint length, int protection, int flags, int descriptor, long offset);

    [LibraryImport(Library, EntryPoint = "munmap", SetLastError = true)]
    internal static partial int Unmap(nint address, nuint length);

    [LibraryImport(Library, EntryPoint = "madvise", SetLastError = true)]
    internal static partial int Advise(nint address, nuint length, int advice);

    [LibraryImport(Library, EntryPoint = "close", SetLastError = true)]
    internal static partial int Close(int descriptor);

    [LibraryImport(Library, EntryPoint = "write", SetLastError = true)]
    internal static partial nint Write(int descriptor, void* data, nuint length);

    [LibraryImport(Library, EntryPoint = "eventfd", SetLastError = true)]
    internal static partial int CreateEvent(uint initialValue, int flags);

    [LibraryImport(Library, EntryPoint = "socket", SetLastError = true)]
    internal static partial int CreateSocket(int domain, int type, int protocol);

    [LibraryImport(Library, EntryPoint = "socketpair", SetLastError = true)]
    internal static partial int SocketPair(int domain, int type, int protocol, int* descriptors);

    /// <summary>Variadic in C, which makes no difference on 64-bit Linux.</summary>
    [LibraryImport(Library, EntryPoint = "fcntl", SetLastError = true)]
    internal static partial int ControlDescriptor(int descriptor, int command, nint argument);

    [LibraryImport(Library, EntryPoint = "shutdown", SetLastError = true)]
    internal static partial int Shutdown(int socket, int how);

    [LibraryImport(Library, EntryPoint = "setsockopt", SetLastError = true)]
    internal static partial int SetSocketOption(int socket, int level, int name, void* value, uint length);

    [LibraryImport(Library, EntryPoint = "sockatmark", SetLastError = true)]
    internal static partial int IsAtMark(int socket);

    [LibraryImport(Library, EntryPoint = "getpeername", SetLastError = true)]
    internal static partial int GetPeerName(int socket, byte* address, uint* length);

    [LibraryImport(Library, EntryPoint = "getsockname", SetLastError = true)]
    internal static partial int GetSocketName(int socket, byte* address, uint* length);

    [LibraryImport(Library, EntryPoint = "sendmsg", SetLastError = true)]
    internal static partial nint SendMessage(int socket, nint message, int flags);

    [LibraryImport(Library, EntryPoint = "recvmsg", SetLastError = true)]
    internal static partial nint ReceiveMessage(int socket, nint message, int flags);

    /// <summary>Without <c>_FILE_OFFSET_BITS</c> an offset has 64 bits on 64-bit Linux all the same.</summary>
    [LibraryImport(Library, EntryPoint = "sendfile", SetLastError = true)]
    internal static partial nint SendFile(int socket, int file, long* offset, nuint count);

    [LibraryImport(Library, EntryPoint = "pipe2", SetLastError = true)]
    internal static partial int CreatePipe(int* descriptors, int flags);

    [LibraryImport(Library, EntryPoint = "splice", SetLastError = true)]
    internal static partial nint Splice(int from, long* fromOffset, int to, long* toOffset, nuint count, uint flags);

    [LibraryImport(Library, EntryPoint = "memfd_create", SetLastError = true)]
    internal static partial int CreateMemoryFile(byte* name, uint flags);

    [LibraryImport(Library, EntryPoint = "ftruncate", SetLastError = true)]
    internal static partial int SetFileLength(int file, long length);

    [LibraryImport(Library, EntryPoint = "fallocate", SetLastError = true)]
    internal static partial int AllocateSpace(int file, int mode, long offset, long length);

    [LibraryImport(Library, EntryPoint = "flock", SetLastError = true)]
    internal static partial int LockFile(int file, int operation);

    [LibraryImport(Library, EntryPoint = "unlinkat", SetLastError = true)]
    internal static partial int Unlink(int directory, byte* name, int flags);

    /// <summary>Never fails.</summary>
    [LibraryImport(Library, EntryPoint = "geteuid")]
    internal static partial uint GetEffectiveUserId();

    /// <summary>errno of the last call that this thread made through this class.</summary>
    internal static int LastError => Marshal.GetLastPInvokeError();
}
