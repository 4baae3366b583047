using System.Runtime.InteropServices;

namespace IoUringCache.Ring.Native;

/// <summary>Values of the C library's headers for mmap, sockets, eventfd and files, on x86-64 and arm64.</summary>
internal static class LibcConstants
{
    /// <summary><c>PROT_READ | PROT_WRITE</c>.</summary>
    internal const int ProtectionReadWrite = 0x1 | 0x2;

    /// <summary><c>MAP_SHARED</c>.</summary>
    internal const int MapShared = 0x01;

    /// <summary><c>MAP_SHARED | MAP_POPULATE</c>: all pages of a ring are used, so they are mapped at once.</summary>
    internal const int MapSharedPopulate = 0x01 | 0x8000;

    /// <summary><c>MAP_PRIVATE | MAP_ANONYMOUS</c>: zeroed; a page is allocated when it is first used.</summary>
    internal const int MapPrivateAnonymous = 0x02 | 0x20;

    /// <summary><c>PROT_NONE</c>.</summary>
    internal const int ProtectionNone = 0;

    /// <summary><c>MAP_FIXED</c>: in the place of what is mapped there.</summary>
    internal const int MapFixed = 0x10;

    /// <summary><c>MADV_COLLAPSE</c>.</summary>
    internal const int CollapseAdvice = 25;

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

    /// <summary><c>O_DIRECT</c>, which differs by architecture.</summary>
    internal static int DirectFlag { get; } = RuntimeInformation.ProcessArchitecture == Architecture.Arm64 ? 0x10000 : 0x4000;

    /// <summary><c>AF_UNIX</c>.</summary>
    internal const int UnixDomain = 1;

    /// <summary><c>SOCK_STREAM</c>.</summary>
    internal const int StreamSocket = 1;

    /// <summary><c>SOL_SOCKET</c>.</summary>
    internal const int SocketLevel = 1;

    /// <summary><c>SCM_RIGHTS</c>.</summary>
    internal const int Rights = 1;

    /// <summary><c>SO_LINGER</c>.</summary>
    internal const int LingerOption = 13;

    /// <summary><c>SO_KEEPALIVE</c>.</summary>
    internal const int KeepAliveOption = 9;

    /// <summary><c>IPPROTO_TCP</c>.</summary>
    internal const int TcpLevel = 6;

    /// <summary><c>TCP_NODELAY</c>.</summary>
    internal const int NoDelayOption = 1;

    /// <summary><c>TCP_KEEPIDLE</c>.</summary>
    internal const int KeepAliveIdleOption = 4;

    /// <summary><c>TCP_KEEPINTVL</c>.</summary>
    internal const int KeepAliveIntervalOption = 5;

    /// <summary><c>SHUT_RDWR</c>.</summary>
    internal const int ShutdownWrite = 1;

    /// <summary><c>SYS_openat2</c>, the same on every architecture that .NET runs on.</summary>
    internal const int OpenNumber = 437;

    /// <summary><c>O_PATH</c>.</summary>
    internal const int PathOnly = 0x200000;

    /// <summary><c>O_RDWR | O_CREAT</c>.</summary>
    internal const int ReadWriteOrCreate = 0x2 | 0x40;

    /// <summary><c>S_IRUSR | S_IWUSR</c>.</summary>
    internal const int OwnerMayReadAndWrite = 0x180;

    /// <summary><c>O_NOCTTY</c>.</summary>
    internal const int NoControllingTerminal = 0x100;

    /// <summary><c>AT_FDCWD</c>.</summary>
    internal const int WorkingDirectory = -100;

    /// <summary><c>RESOLVE_BENEATH</c>.</summary>
    internal const ulong ResolveBeneath = 0x8;

    /// <summary><c>RESOLVE_NO_MAGICLINKS</c>.</summary>
    internal const ulong ResolveNoMagicLinks = 0x2;

    /// <summary><c>RESOLVE_NO_SYMLINKS</c>, which implies <c>RESOLVE_NO_MAGICLINKS</c>.</summary>
    internal const ulong ResolveNoSymbolicLinks = 0x4;

    /// <summary><c>LOCK_EX | LOCK_NB</c>.</summary>
    internal const int ExclusiveLockWithoutWaiting = 0x2 | 0x4;

    /// <summary><c>LOCK_UN</c>.</summary>
    internal const int Unlock = 0x8;

    /// <summary><c>AT_EMPTY_PATH</c>.</summary>
    internal const int EmptyPath = 0x1000;

    /// <summary>
    /// <c>STATX_TYPE | STATX_MODE | STATX_NLINK | STATX_UID | STATX_MTIME | STATX_INO | STATX_SIZE</c>.
    /// </summary>
    internal const int WantedStatistics = 0x1 | 0x2 | 0x4 | 0x8 | 0x40 | 0x100 | 0x200;

    /// <summary><c>S_IFMT</c>.</summary>
    internal const int KindMask = 0xF000;

    /// <summary>The permissions in a mode, with set-user-ID, set-group-ID and sticky bit.</summary>
    internal const int PermissionMask = 0xFFF;

    /// <summary><c>S_IFREG</c>.</summary>
    internal const int RegularFile = 0x8000;

    /// <summary><c>S_IFDIR</c>.</summary>
    internal const int Directory = 0x4000;

    /// <summary><c>RWF_NOWAIT</c>.</summary>
    internal const int ReadWithoutWaiting = 0x8;

    /// <summary><c>SYS_preadv2</c>, which differs on x86-64.</summary>
    internal static int ReadNumber { get; } = RuntimeInformation.ProcessArchitecture == Architecture.X64 ? 327 : 286;

    /// <summary><c>SYS_statx</c>, which differs on x86-64.</summary>
    internal static int StatusNumber { get; } = RuntimeInformation.ProcessArchitecture == Architecture.X64 ? 332 : 291;
}
