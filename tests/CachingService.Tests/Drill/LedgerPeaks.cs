namespace CachingService.Tests.Drill;

/// <summary>The most that the books on memory have shown at any look. Immutable.</summary>
internal sealed record LedgerPeaks(long Stored, long InFlight, long Pinned, int Looks)
{
    /// <summary>Looks every few milliseconds until told to stop.</summary>
    public static async Task<LedgerPeaks> WatchAsync(CachingServiceHost host, CancellationToken stop)
    {
        LedgerPeaks peaks = new(0, 0, 0, 0);
        using PeriodicTimer tick = new(TimeSpan.FromMilliseconds(5));
        try
        {
            while (await tick.WaitForNextTickAsync(stop))
            {
                peaks = new(
                    Math.Max(peaks.Stored, host.Cache.Ledger.StoredBytes),
                    Math.Max(peaks.InFlight, host.Cache.Ledger.InFlightBytes),
                    Math.Max(peaks.Pinned, host.Cache.Ledger.PinnedBytes),
                    peaks.Looks + 1);
            }
        }
        catch (OperationCanceledException)
        {
            // The drill is over.
        }

        return peaks;
    }
}
