using System.Globalization;
using IoUringCache.Ring;
using IoUringCache.Transport.Internal.Diagnostics;

namespace IoUringCache.Transport.Internal.Listening;

/// <summary>
/// The descriptors that accepting leaves to the rest of the process: assemblies that are loaded late, files, connections to others, and threads
/// that take loops over. One for the process. Any thread.
/// <para>
/// A new descriptor has the lowest free number, so one with the number n says that n others are in use. That is known of each accepted
/// connection and costs nothing.
/// </para>
/// </summary>
/// <param name="limit">Descriptors that the process may have open.</param>
/// <param name="lowestFree">The number that the next one would have.</param>
internal sealed class DescriptorReserve(long limit, Func<int> lowestFree)
{
    /// <summary>The runtime aborts where it cannot open an assembly, of which a first request needs some dozens.</summary>
    private const long LeastReserve = 128;

    private const long MostReserve = 1024;

    /// <summary>Connections that have completed in the kernel and may be accepted before this hears of the first.</summary>
    private long _queuedCount;

    internal static DescriptorReserve OfProcess { get; } = new(OpenFileLimit.Value, FindLowestFree);

    /// <summary>What the process may have open.</summary>
    internal long Limit => limit;

    /// <summary>Accepting pauses at so many in use: an eighth of the limit is left, but at least 128 and at most 1,024.</summary>
    internal long PauseAt { get; init; } = limit - Math.Clamp(limit / 8, LeastReserve, MostReserve);

    /// <summary>What is left when accepting pauses.</summary>
    internal long Reserve => limit - PauseAt;

    /// <summary>A listener begins to accept.</summary>
    /// <param name="backlog">The length of its listen queue.</param>
    internal void Add(int backlog) => Interlocked.Add(ref _queuedCount, backlog);

    /// <summary>It accepts no more.</summary>
    internal void Remove(int backlog) => Interlocked.Add(ref _queuedCount, -backlog);

    /// <summary>Whether all connections of all listen queues can be accepted at once.</summary>
    /// <param name="inUse">Descriptors in use.</param>
    internal bool AllowsBurst(int inUse) => inUse + Volatile.Read(ref _queuedCount) < PauseAt;

    /// <summary>Whether so many descriptors are in use that accepting has to pause; looks again where that was so.</summary>
    /// <param name="inUse">The number of the latest descriptor. Becomes what is in use now, if that matters.</param>
    internal bool IsReached(ref int inUse) => inUse >= PauseAt && (inUse = lowestFree()) >= PauseAt;

    /// <summary>Before anything is bound: without room for a single connection a server would look alive and answer no client.</summary>
    /// <exception cref="PlatformNotSupportedException">There is no such room.</exception>
    internal void Check()
    {
        int inUse = int.MaxValue;
        if (IsReached(ref inUse))
        {
            throw new PlatformNotSupportedException(string.Create(
                CultureInfo.InvariantCulture,
                $"The limit of open files is {limit}: {inUse} are open and {Reserve} are kept for assemblies, files and connections to others, so none "
                + $"is left for clients. Raise it to {inUse + (2 * LeastReserve)} or more, better 65536, with `LimitNOFILE=` or `ulimit -n`."));
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
            return int.MaxValue; // There is none.
        }
    }
}
