using System.Runtime.InteropServices;

namespace CachingService;

/// <summary>
/// Keeps SIGHUP, by which operators of other servers ask for a reload, from ending the process. Owned by <c>Program</c>; the signal comes on
/// a thread of the runtime's.
/// </summary>
internal sealed class HangUpSignal : IDisposable
{
    private readonly PosixSignalRegistration _registration;
    private CachingServiceHost? _service;

    /// <summary>Ignores the signal from now on.</summary>
    public HangUpSignal() => _registration = PosixSignalRegistration.Create(PosixSignal.SIGHUP, Ignore);

    /// <summary>The service whose log tells of ignored signals; <see langword="null"/> while it starts, when nothing could be reloaded.</summary>
    public CachingServiceHost? Service
    {
        set => Volatile.Write(ref _service, value);
    }

    public void Dispose() => _registration.Dispose();

    private void Ignore(PosixSignalContext signal)
    {
        signal.Cancel = true;
        Volatile.Read(ref _service)?.LogIgnoredHangUp();
    }
}
