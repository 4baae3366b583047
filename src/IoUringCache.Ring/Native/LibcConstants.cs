using System.Runtime.InteropServices;

namespace IoUringCache.Ring.Native;

/// <summary>Values of the C library's headers for mmap, sockets, eventfd and files, on x86-64 and arm64.</summary>
internal static class LibcConstants
{
    // Memory: mmap(2), madvise(2), memfd_create(2).
    internal const int ProtectionNone = 0;                // PROT_NONE
    internal const int ProtectionReadWrite = 0x1 | 0x2;   // PROT_READ | PROT_WRITE
    internal const int MapShared = 0x01;                  // MAP_SHARED
    internal const int MapSharedPopulate = 0x01 | 0x8000; // MAP_SHARED | MAP_POPULATE: all pages of a ring are used, so they are mapped at once.
    internal const int MapPrivateAnonymous = 0x02 | 0x20; // MAP_PRIVATE | MAP_ANONYMOUS: zeroed; a page is allocated when it is first used.
    internal const int MapFixed = 0x10;                   // MAP_FIXED: in the place of what is mapped there.
    internal const int CollapseAdvice = 25;               // MADV_COLLAPSE
    internal const uint MemoryFileCloseOnExec = 0x1;      // MFD_CLOEXEC

    // Descriptors: eventfd(2), fcntl(2), pipe(7), poll(2), splice(2).
    internal const int CloseOnExec = 0x80000;             // EFD_CLOEXEC, SOCK_CLOEXEC, O_CLOEXEC
    internal const int NonBlocking = 0x800;               // EFD_NONBLOCK, O_NONBLOCK
    internal const int Append = 0x400;                    // O_APPEND
    internal const int GetDescriptorFlags = 3;            // F_GETFL
    internal const int SetDescriptorFlags = 4;            // F_SETFL
    internal const int SetPipeCapacity = 1031;            // F_SETPIPE_SZ
    internal const int GetPipeCapacity = 1032;            // F_GETPIPE_SZ
    internal const uint PollReadable = 0x1;               // POLLIN
    internal const uint PollWritable = 0x4;               // POLLOUT
    internal const uint SpliceWithoutWaiting = 0x2;       // SPLICE_F_NONBLOCK, which concerns the pipe alone.

    // Sockets: socket(2), socket(7), tcp(7), unix(7).
    internal const int UnixDomain = 1;                    // AF_UNIX
    internal const int StreamSocket = 1;                  // SOCK_STREAM
    internal const int SocketLevel = 1;                   // SOL_SOCKET
    internal const int Rights = 1;                        // SCM_RIGHTS
    internal const int LingerOption = 13;                 // SO_LINGER
    internal const int KeepAliveOption = 9;               // SO_KEEPALIVE
    internal const int TcpLevel = 6;                      // IPPROTO_TCP
    internal const int NoDelayOption = 1;                 // TCP_NODELAY
    internal const int KeepAliveIdleOption = 4;           // TCP_KEEPIDLE
    internal const int KeepAliveIntervalOption = 5;       // TCP_KEEPINTVL
    internal const int ShutdownWrite = 1;                 // SHUT_WR

    // Files: openat2(2), flock(2), statx(2), inode(7), preadv2(2).
    internal const int WorkingDirectory = -100;           // AT_FDCWD
    internal const int EmptyPath = 0x1000;                // AT_EMPTY_PATH
    internal const int PathOnly = 0x200000;               // O_PATH
    internal const int ReadWriteOrCreate = 0x2 | 0x40;    // O_RDWR | O_CREAT
    internal const int NoControllingTerminal = 0x100;     // O_NOCTTY
    internal const int OwnerMayReadAndWrite = 0x180;      // S_IRUSR | S_IWUSR
    internal const ulong ResolveNoMagicLinks = 0x2;       // RESOLVE_NO_MAGICLINKS
    internal const ulong ResolveNoSymbolicLinks = 0x4;    // RESOLVE_NO_SYMLINKS, which implies RESOLVE_NO_MAGICLINKS
    internal const ulong ResolveBeneath = 0x8;            // RESOLVE_BENEATH
    internal const int ExclusiveLockWithoutWaiting = 0x6; // LOCK_EX | LOCK_NB
    internal const int Unlock = 0x8;                      // LOCK_UN
    internal const int KindMask = 0xF000;                 // S_IFMT
    internal const int RegularFile = 0x8000;              // S_IFREG
    internal const int Directory = 0x4000;                // S_IFDIR
    internal const int PermissionMask = 0xFFF;            // The permissions in a mode, with set-user-ID, set-group-ID and sticky bit.
    internal const int ReadWithoutWaiting = 0x8;          // RWF_NOWAIT

    /// <summary>
    /// <c>STATX_TYPE | STATX_MODE | STATX_NLINK | STATX_UID | STATX_MTIME | STATX_INO | STATX_SIZE</c>.
    /// </summary>
    internal const int WantedStatistics = 0x1 | 0x2 | 0x4 | 0x8 | 0x40 | 0x100 | 0x200;

    /// <summary><c>SYS_openat2</c>, the same on every architecture that .NET runs on.</summary>
    internal const int OpenNumber = 437;

    /// <summary><c>SYS_preadv2</c>, which differs on x86-64.</summary>
    internal static int ReadNumber { get; } = RuntimeInformation.ProcessArchitecture == Architecture.X64 ? 327 : 286;

    /// <summary><c>SYS_statx</c>, which differs on x86-64.</summary>
    internal static int StatusNumber { get; } = RuntimeInformation.ProcessArchitecture == Architecture.X64 ? 332 : 291;

    /// <summary><c>O_DIRECT</c>, which differs by architecture.</summary>
    internal static int DirectFlag { get; } = RuntimeInformation.ProcessArchitecture == Architecture.Arm64 ? 0x10000 : 0x4000;
}
