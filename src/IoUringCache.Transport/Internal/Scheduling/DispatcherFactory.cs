using IoUringCache.Transport.Internal.Loops;

namespace IoUringCache.Transport.Internal.Scheduling;

/// <summary>
/// Makes the dispatchers of a group's loops and holds what they share. Owned by the group, one call at a time.
/// </summary>
internal abstract class DispatcherFactory : IDisposable
{
    /// <summary>The factory for a setting: the only code on the loops that tells the modes apart, besides
    /// <see cref="EventLoopSettings.DefaultLoopCount"/>.</summary>
    internal static DispatcherFactory For(EventLoopSettings settings) => settings.Scheduling switch
    {
        ApplicationScheduling.ThreadPool => new SimpleFactory(static loop => new ThreadPoolDispatcher(loop)),
        ApplicationScheduling.Inline => new SimpleFactory(static loop => new InlineDispatcher(loop)),
        ApplicationScheduling.Adaptive => new LoopWatchdog(settings.LoopCount),
        _ => throw new ArgumentOutOfRangeException(nameof(settings), settings.Scheduling, "No dispatcher for this scheduling."),
    };

    /// <summary>Makes the dispatcher of a loop, before <see cref="Start"/>.</summary>
    internal abstract Dispatcher Create(EventLoop loop);

    /// <summary>All loops have started.</summary>
    internal virtual void Start()
    {
    }

    /// <summary>All loops have ended.</summary>
    public virtual void Dispose()
    {
    }

    private sealed class SimpleFactory(Func<EventLoop, Dispatcher> create) : DispatcherFactory
    {
        internal override Dispatcher Create(EventLoop loop) => create(loop);
    }
}
