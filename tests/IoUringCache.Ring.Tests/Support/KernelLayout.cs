using System.Reflection;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using IoUringCache.Ring.Native;

namespace IoUringCache.Ring.Tests.Support;

/// <summary>A structure of the library and the C type that it mirrors.</summary>
/// <param name="Type">The library's structure.</param>
/// <param name="Name">The C type, or null if there is none.</param>
/// <param name="Bytes">Size in bytes.</param>
/// <param name="Fields">The library's field, the C field, its offset and its size in bytes.</param>
internal sealed record KernelLayout(Type Type, string? Name, int Bytes, params (string Ours, string Theirs, int Offset, int Bytes)[] Fields)
{
    internal static KernelLayout[] All { get; } =
    [
        new(typeof(RingParameters), "struct io_uring_params", 120,
            ("SubmissionEntries", "sq_entries", 0, 4), ("CompletionEntries", "cq_entries", 4, 4), ("Flags", "flags", 8, 4),
            ("Features", "features", 20, 4), ("SubmissionOffsets", "sq_off", 40, 40), ("CompletionOffsets", "cq_off", 80, 40)),
        new(typeof(SubmissionRingOffsets), "struct io_sqring_offsets", 40,
            ("Head", "head", 0, 4), ("Tail", "tail", 4, 4), ("Mask", "ring_mask", 8, 4), ("EntryCount", "ring_entries", 12, 4),
            ("Flags", "flags", 16, 4), ("Array", "array", 24, 4)),
        new(typeof(CompletionRingOffsets), "struct io_cqring_offsets", 40,
            ("Head", "head", 0, 4), ("Tail", "tail", 4, 4), ("Mask", "ring_mask", 8, 4), ("EntryCount", "ring_entries", 12, 4),
            ("Entries", "cqes", 20, 4)),
        new(typeof(SubmissionEntry), "struct io_uring_sqe", 64,
            ("Opcode", "opcode", 0, 1), ("Flags", "flags", 1, 1), ("Modifier", "ioprio", 2, 2), ("Descriptor", "fd", 4, 4),
            ("Offset", "off", 8, 8), ("Address", "addr", 16, 8), ("Length", "len", 24, 4), ("OperationFlags", "msg_flags", 28, 4),
            ("UserDataBits", "user_data", 32, 8), ("BufferGroup", "buf_group", 40, 2)),
        new(typeof(Completion), "struct io_uring_cqe", 16,
            ("_userData", "user_data", 0, 8), ("_result", "res", 8, 4), ("_flags", "flags", 12, 4)),
        new(typeof(BufferRingEntry), "struct io_uring_buf", 16,
            ("Address", "addr", 0, 8), ("Length", "len", 8, 4), ("BufferId", "bid", 12, 2)),
        new(typeof(BufferRingRegistration), "struct io_uring_buf_reg", 40,
            ("Address", "ring_addr", 0, 8), ("EntryCount", "ring_entries", 8, 4), ("Group", "bgid", 12, 2)),
        new(typeof(SyncCancelArgument), "struct io_uring_sync_cancel_reg", 64,
            ("Target", "addr", 0, 8), ("Descriptor", "fd", 8, 4), ("Flags", "flags", 12, 4), ("Timeout", "timeout", 16, 16)),
        new(typeof(GetEventsArgument), "struct io_uring_getevents_arg", 24, ("Timeout", "ts", 16, 8)),
        new(typeof(KernelTimespec), "struct __kernel_timespec", 16, ("Seconds", "tv_sec", 0, 8), ("Nanoseconds", "tv_nsec", 8, 8)),
        new(typeof(IoVector), "struct iovec", 16, ("Base", "iov_base", 0, 8), ("Length", "iov_len", 8, 8)),
        new(typeof(MessageHeader), "struct msghdr", 56, ("Vectors", "msg_iov", 16, 8), ("VectorCount", "msg_iovlen", 24, 8),
            ("Control", "msg_control", 32, 8), ("ControlLength", "msg_controllen", 40, 8)),
        new(typeof(RightsHeader), "struct cmsghdr", 16, ("Length", "cmsg_len", 0, 8), ("Level", "cmsg_level", 8, 4), ("Kind", "cmsg_type", 12, 4)),
        new(typeof(LingerSetting), "struct linger", 8, ("IsEnabled", "l_onoff", 0, 4), ("Seconds", "l_linger", 4, 4)),
        new(typeof(CacheRange), "struct cachestat_range", 16, ("Offset", "off", 0, 8), ("Length", "len", 8, 8)),
        new(typeof(CacheStatistics), "struct cachestat", 40, ("CachedPages", "nr_cache", 0, 8)),
        new(typeof(OpenHow), "struct open_how", 24, ("Flags", "flags", 0, 8), ("Mode", "mode", 8, 8), ("Resolve", "resolve", 16, 8)),
        new(typeof(FileStatistics), "struct statx", 256,
            ("LinkCount", "stx_nlink", 16, 4), ("UserId", "stx_uid", 20, 4), ("Mode", "stx_mode", 28, 2), ("Inode", "stx_ino", 32, 8), ("Size", "stx_size", 40, 8),
            ("ModifiedSeconds", "stx_mtime.tv_sec", 112, 8), ("ModifiedNanoseconds", "stx_mtime.tv_nsec", 120, 4)),
        new(typeof(OpcodeProbeEntry), "struct io_uring_probe_op", 8, ("Opcode", "op", 0, 1), ("Flags", "flags", 2, 2)),
        new(typeof(OpcodeProbe), "struct { struct io_uring_probe probe; struct io_uring_probe_op room[256]; }", 2064,
            ("OperationCount", "probe.ops_len", 1, 1), ("Operations", "probe.ops", 16, 2048)),
        new(typeof(SlotArguments), null, 1088, ("Time", "", 0, 16), ("Header", "", 0, 56), ("Address", "", 0, 128), ("Vectors", "", 56, 1024)),
    ];

    /// <summary>All structures of the library; nested ones are checked as fields.</summary>
    internal static IEnumerable<Type> KernelStructures => typeof(KernelRing).Assembly.GetTypes()
        .Where(type => type is { IsValueType: true, IsEnum: false, IsNested: false, Namespace: "IoUringCache.Ring.Native" })
        .Append(typeof(Completion));

    internal static int SizeOf(Type type) => RuntimeHelpers.SizeOf(type.TypeHandle);

    internal IEnumerable<FieldInfo> OurFields =>
        Type.GetFields(BindingFlags.Instance | BindingFlags.Public | BindingFlags.NonPublic);

    internal static int OffsetOf(FieldInfo field) => field.GetCustomAttribute<FieldOffsetAttribute>()!.Value;
}
