namespace IoUringCache.Transport.Internal.Loops;

/// <summary>Makes adaptive dispatchers, which share a watchdog and the threads for handlers that block. Owned by a group of loops.</summary>
internal sealed class AdaptiveDispatcherFactory : DispatcherFactory
{
    private readonly HandlerThreads _handlers = new();
    private readonly LoopWatchdog _watchdog;
    private int _count;

    /// <param name="loopCount">How many dispatchers it makes.</param>
    internal AdaptiveDispatcherFactory(int loopCount)
    {
        _watchdog = new LoopWatchdog(loopCount, _handlers);
    }

    internal override Dispatcher Create(EventLoop loop)
    {
        AdaptiveDispatcher dispatcher = new(loop, _count++, _handlers, _watchdog.Wake);
        _watchdog.Watch(dispatcher);
        return dispatcher;
    }

    internal override void Start() => _watchdog.Start();

    public override void Dispose()
    {
        _watchdog.Dispose();
        _handlers.Dispose();
    }
}
