using System.Runtime.InteropServices;

namespace CachingService;

/// <summary>
/// Has the service read its options anew on SIGHUP, as operators of other servers expect. Owned by <c>Program</c>; the signal comes on a thread
/// of the runtime's.
/// </summary>
internal sealed class HangUpSignal : IDisposable
{
    private readonly PosixSignalRegistration _registration;
    private CachingServiceHost? _service;

    /// <summary>The signal does not end the process from now on.</summary>
    public HangUpSignal() => _registration = PosixSignalRegistration.Create(PosixSignal.SIGHUP, Reload);

    /// <summary>The service that reads its options anew; <see langword="null"/> while it starts, when it has just done so.</summary>
    public CachingServiceHost? Service
    {
        set => Volatile.Write(ref _service, value);
    }

    public void Dispose() => _registration.Dispose();

    private void Reload(PosixSignalContext signal)
    {
        signal.Cancel = true;
        Volatile.Read(ref _service)?.Reload();
    }
}
