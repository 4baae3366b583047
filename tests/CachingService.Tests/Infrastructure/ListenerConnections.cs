using System.Diagnostics.Metrics;

namespace CachingService.Tests.Infrastructure;

/// <summary>Counts the open connections of a listener, by Kestrel's own meter. Made before the service starts. Any thread.</summary>
internal sealed class ListenerConnections : IDisposable
{
    private readonly MeterListener _listener = new();
    private readonly Lock _lock = new();
    private readonly Dictionary<int, long> _openByPort = [];

    public ListenerConnections()
    {
        _listener.InstrumentPublished = static (instrument, listener) =>
        {
            if (instrument is { Name: "kestrel.active_connections", Meter.Name: "Microsoft.AspNetCore.Server.Kestrel" })
            {
                listener.EnableMeasurementEvents(instrument);
            }
        };
        _listener.SetMeasurementEventCallback<long>(Count);
        _listener.Start();
    }

    /// <summary>Connections at the port of this URL, and whether there ever was one.</summary>
    public (long Open, bool IsKnown) Of(string url)
    {
        lock (_lock)
        {
            return (_openByPort.GetValueOrDefault(new Uri(url).Port, 0), _openByPort.ContainsKey(new Uri(url).Port));
        }
    }

    public void Dispose() => _listener.Dispose();

    private void Count(Instrument instrument, long change, ReadOnlySpan<KeyValuePair<string, object?>> tags, object? state)
    {
        foreach ((string name, object? value) in tags)
        {
            if (name == "server.port" && value is int port)
            {
                lock (_lock)
                {
                    _openByPort[port] = _openByPort.GetValueOrDefault(port, 0) + change;
                }
            }
        }
    }
}
