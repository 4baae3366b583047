using System.Globalization;
using IoUringCache.Ring;
using IoUringCache.Transport.Internal.Diagnostics;

namespace IoUringCache.Transport.Internal.Listening;

/// <summary>
/// The descriptors that accepting leaves to the rest of the process: for assemblies that load late, files, outgoing
/// connections and the loops' spare threads. One for the process. Any thread.
/// <para>
/// A new descriptor has the lowest free number, so number n means that at least n others are in use. Each accepted
/// connection says that for free.
/// </para>
/// </summary>
/// <param name="limit">Descriptors that the process may have open.</param>
/// <param name="lowestFree">Returns the number that the next descriptor would have.</param>
internal sealed class DescriptorReserve(long limit, Func<int> lowestFree)
{
    /// <summary>The runtime aborts if it cannot open an assembly, and a first request loads dozens.</summary>
    private const long MinReserve = 128;

    private const long MaxReserve = 1024;

    /// <summary>
    /// Connections that the listen queues may hold, all of which one multishot may accept before this sees the first.
    /// </summary>
    private long _queuedCount;

    internal static DescriptorReserve OfProcess { get; } = new(OpenFileLimit.Value, FindLowestFree);

    /// <summary>Descriptors that the process may have open.</summary>
    internal long Limit => limit;

    /// <summary>
    /// Descriptors in use at which accepting pauses: an eighth of the limit is left, at least 128 and at most 1,024.
    /// </summary>
    internal long PauseAt { get; init; } = limit - Math.Clamp(limit / 8, MinReserve, MaxReserve);

    /// <summary>Descriptors left when accepting pauses.</summary>
    internal long Reserve => limit - PauseAt;

    /// <summary>Adds a listener that starts to accept.</summary>
    /// <param name="backlog">Length of its listen queue, in connections.</param>
    internal void Add(int backlog) => Interlocked.Add(ref _queuedCount, backlog);

    /// <summary>Undoes one <see cref="Add"/>.</summary>
    internal void Remove(int backlog) => Interlocked.Add(ref _queuedCount, -backlog);

    /// <summary>Whether all connections of all listen queues can be accepted at once.</summary>
    internal bool AllowsBurst(int inUse) => inUse + Volatile.Read(ref _queuedCount) < PauseAt;

    /// <summary>Whether so many descriptors are in use that accepting pauses. Counts them anew if they were.</summary>
    /// <param name="inUse">Descriptors in use as last known; updated when counted.</param>
    internal bool IsReached(ref int inUse) => inUse >= PauseAt && (inUse = lowestFree()) >= PauseAt;

    /// <summary>
    /// Fails if no connection could be accepted: such a server would look alive and answer no client. Before anything
    /// is bound.
    /// </summary>
    /// <exception cref="PlatformNotSupportedException">All descriptors but the reserve are in use.</exception>
    internal void Check()
    {
        int inUse = int.MaxValue;
        if (IsReached(ref inUse))
        {
            throw new PlatformNotSupportedException(string.Create(
                CultureInfo.InvariantCulture,
                $"The limit of open files is {limit}: {inUse} are open and {Reserve} are kept for assemblies, files and connections to others, so none "
                + $"is left for clients. Raise it to {inUse + (2 * MinReserve)} or more, better 65536, with `LimitNOFILE=` or `ulimit -n`."));
        }
    }

    private static int FindLowestFree()
    {
        try
        {
            using EventDescriptor descriptor = EventDescriptor.Create();
            return (int)descriptor.DangerousGetHandle();
        }
        catch (IoUringException)
        {
            return int.MaxValue; // No descriptor is free.
        }
    }
}
