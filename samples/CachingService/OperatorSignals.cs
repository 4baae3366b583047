using System.Runtime.InteropServices;

namespace CachingService;

/// <summary>
/// The signals that operators of other servers know: on SIGHUP the service reads its options anew, on SIGUSR1 it begins the files of its logs anew.
/// Owned by <c>Program</c>; signals come on a thread of the runtime's.
/// </summary>
internal sealed class OperatorSignals : IDisposable
{
    /// <summary>The runtime has no name for it, and takes its number (signal(7)).</summary>
    private const PosixSignal User1 = (PosixSignal)10;

    private readonly PosixSignalRegistration _hangUp;
    private readonly PosixSignalRegistration _user1;
    private readonly Lock _lock = new();
    private readonly HashSet<Action<CachingServiceHost>> _early = [];
    private CachingServiceHost? _service;

    /// <summary>The signals do not end the process from now on.</summary>
    public OperatorSignals()
    {
        _hangUp = Handle(PosixSignal.SIGHUP, static service => service.Reload());
        _user1 = Handle(User1, static service => service.ReopenLogs());
    }

    /// <summary>
    /// The service that they are for; <see langword="null"/> until it has started and when it ends. What came before it is done when it is there.
    /// </summary>
    public CachingServiceHost? Service
    {
        set
        {
            lock (_lock)
            {
                _service = value;
                if (value is { } service)
                {
                    foreach (Action<CachingServiceHost> action in _early)
                    {
                        action(service);
                    }

                    _early.Clear();
                }
            }
        }
    }

    public void Dispose()
    {
        _hangUp.Dispose();
        _user1.Dispose();
    }

    private PosixSignalRegistration Handle(PosixSignal signal, Action<CachingServiceHost> action) => PosixSignalRegistration.Create(signal, context =>
    {
        context.Cancel = true;
        lock (_lock)
        {
            if (_service is { } service)
            {
                action(service);
            }
            else
            {
                _early.Add(action);
            }
        }
    });
}
