using System.Runtime.InteropServices;

namespace IoUringCache.Ring.Native;

/// <summary>Values of the C library's headers for mmap, sockets and eventfd, on x86-64 and arm64.</summary>
internal static class LibcConstants
{
    /// <summary><c>PROT_READ | PROT_WRITE</c>.</summary>
    internal const int ProtectionReadWrite = 0x1 | 0x2;

    /// <summary><c>MAP_SHARED</c>.</summary>
    internal const int MapShared = 0x01;

    /// <summary><c>MAP_SHARED | MAP_POPULATE</c>: a ring is touched at once and always.</summary>
    internal const int MapSharedPopulate = 0x01 | 0x8000;

    /// <summary><c>MAP_PRIVATE | MAP_ANONYMOUS</c>: zeroed, and a page costs nothing before its first use.</summary>
    internal const int MapPrivateAnonymous = 0x02 | 0x20;

    /// <summary><c>MFD_CLOEXEC</c>.</summary>
    internal const uint MemoryFileCloseOnExec = 0x1;

    /// <summary><c>EFD_CLOEXEC</c>, equal to <c>SOCK_CLOEXEC</c>.</summary>
    internal const int CloseOnExec = 0x80000;

    /// <summary><c>EFD_NONBLOCK</c>, equal to <c>O_NONBLOCK</c>.</summary>
    internal const int NonBlocking = 0x800;

    /// <summary><c>POLLOUT</c>.</summary>
    internal const uint PollWritable = 0x4;

    /// <summary><c>F_GETFL</c>.</summary>
    internal const int GetDescriptorFlags = 3;

    /// <summary><c>F_SETFL</c>.</summary>
    internal const int SetDescriptorFlags = 4;

    /// <summary><c>O_DIRECT</c>, which the architectures number differently.</summary>
    internal static int DirectFlag { get; } = RuntimeInformation.ProcessArchitecture == Architecture.Arm64 ? 0x10000 : 0x4000;

    /// <summary><c>AF_UNIX</c>.</summary>
    internal const int UnixDomain = 1;

    /// <summary><c>SOCK_STREAM</c>.</summary>
    internal const int StreamSocket = 1;

    /// <summary><c>SOL_SOCKET</c>.</summary>
    internal const int SocketLevel = 1;

    /// <summary><c>SO_LINGER</c>.</summary>
    internal const int LingerOption = 13;

    /// <summary><c>IPPROTO_TCP</c>.</summary>
    internal const int TcpLevel = 6;

    /// <summary><c>TCP_NODELAY</c>.</summary>
    internal const int NoDelayOption = 1;

    /// <summary><c>SHUT_RDWR</c>.</summary>
    internal const int ShutdownWrite = 1;
}
