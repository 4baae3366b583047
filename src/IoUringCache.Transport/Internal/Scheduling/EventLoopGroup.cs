using System.Collections.Immutable;
using IoUringCache.Ring;
using IoUringCache.Transport.Internal.Diagnostics;
using IoUringCache.Transport.Internal.Loops;
using Microsoft.Extensions.Logging;

namespace IoUringCache.Transport.Internal.Scheduling;

/// <summary>
/// The loops that all end points of the process with equal settings share. Each listener and each connection factory
/// holds a reference; the last release ends the loops. Any thread.
/// </summary>
internal sealed class EventLoopGroup
{
    private static readonly SemaphoreSlim s_lock = new(1);
    private static readonly Dictionary<EventLoopSettings, EventLoopGroup> s_groups = [];

    private readonly EventLoopSettings _settings;
    private readonly EventLoop[] _loops;
    private readonly DispatcherFactory _dispatchers;
    private ImmutableList<ILogger> _logs = [];
    private int _references;
    private uint _next;

    private EventLoopGroup(EventLoopSettings settings)
    {
        _settings = settings;
        _dispatchers = DispatcherFactory.For(settings);
        _loops = [.. Enumerable.Range(0, settings.LoopCount).Select(index => new EventLoop(settings, index, _dispatchers.Create, LogFailure))];
        foreach (EventLoop loop in _loops)
        {
            loop.Busy?.CapacityChanged = () => CapacityChanged?.Invoke();
        }
    }

    /// <summary><see cref="HasCapacity"/> may have changed. On the thread of the loop that pauses or resumes.</summary>
    internal event Action? CapacityChanged;

    /// <summary>Whether a loop takes new connections. Any thread.</summary>
    internal bool HasCapacity => Array.Exists(_loops, static loop => loop.HasCapacity);

    /// <summary>Whether every loop has failed. Any thread.</summary>
    internal bool HasFailed => Array.TrueForAll(_loops, static loop => loop.HasFailed);

    /// <summary>What the kernel accepted at the set-up of the rings.</summary>
    internal string RingFeatures => _loops[0].Description;

    /// <summary>What the log says about the rings.</summary>
    internal string Description =>
        $"{_loops.Length} {(_loops.Length == 1 ? "loop" : "loops")}, {_settings.Scheduling} scheduling, {_loops[0].Description}";

    /// <summary>What the loops have given out, taken together.</summary>
    internal LoopUsage Usage => _loops.Aggregate(default(LoopUsage), (sum, loop) => sum + loop.Usage);

    /// <summary>The loops for these settings, started if they were not running.</summary>
    /// <exception cref="IoUringUnavailableException">The kernel refuses a ring; no loop is left running.</exception>
    internal static async Task<EventLoopGroup> AcquireAsync(EventLoopSettings settings)
    {
        await s_lock.WaitAsync();
        try
        {
            if (!s_groups.TryGetValue(settings, out EventLoopGroup? group) || group._loops.Any(loop => loop.HasFailed))
            {
                group = new EventLoopGroup(settings);
                await group.StartAsync();
                s_groups[settings] = group;
            }

            group._references++;
            return group;
        }
        finally
        {
            s_lock.Release();
        }
    }

    /// <summary>Gives one reference back; ends when, if it was the last, the loops have ended.</summary>
    /// <exception cref="IoUringException">A ring broke meanwhile; the loops have ended nevertheless.</exception>
    internal async Task ReleaseAsync()
    {
        await s_lock.WaitAsync();
        try
        {
            if (--_references > 0)
            {
                return;
            }

            if (s_groups.GetValueOrDefault(_settings) == this)
            {
                s_groups.Remove(_settings);
            }
        }
        finally
        {
            s_lock.Release();
        }

        try
        {
            await Task.WhenAll(_loops.Select(loop => loop.StopAsync()));
        }
        finally
        {
            _dispatchers.Dispose();
        }
    }

    /// <summary>Has a log told of every loop that breaks from now on, with a listener on it or not.</summary>
    internal void AddLog(ILogger log) => ImmutableInterlocked.Update(ref _logs, static (logs, log) => logs.Add(log), log);

    /// <summary>Undoes one <see cref="AddLog"/>.</summary>
    internal void RemoveLog(ILogger log) => ImmutableInterlocked.Update(ref _logs, static (logs, log) => logs.Remove(log), log);

    /// <summary>The next loop in turn; one without capacity, or a failed one, only if there is no other.</summary>
    internal EventLoop Next() => Next(static loop => loop.HasCapacity) ?? Next(static loop => !loop.HasFailed) ?? InTurn();

    /// <summary>The loop whose work the calling thread does; null if it does no loop's.</summary>
    internal EventLoop? FindCallers() => Array.Find(_loops, static loop => loop.Posts.IsCallers);

    /// <summary>Once per log, however many end points of a host share it.</summary>
    private void LogFailure(Exception reason)
    {
        foreach (ILogger log in Volatile.Read(ref _logs).Distinct())
        {
            IoUringLog.LoopFailed(log, reason);
        }
    }

    private EventLoop? Next(Func<EventLoop, bool> suits)
    {
        for (int left = _loops.Length; left > 0; left--)
        {
            EventLoop loop = InTurn();
            if (suits(loop))
            {
                return loop;
            }
        }

        return null;
    }

    private EventLoop InTurn() => _loops[(Interlocked.Increment(ref _next) - 1) % (uint)_loops.Length];

    private async Task StartAsync()
    {
        Task[] starts = [.. _loops.Select(loop => loop.Start())];
        try
        {
            await Task.WhenAll(starts);
            _dispatchers.Start();
        }
        catch
        {
            await Task.WhenAll(_loops.Zip(starts).Where(pair => pair.Second.IsCompletedSuccessfully).Select(pair => pair.First.StopAsync()));
            throw;
        }
    }
}
