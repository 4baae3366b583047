using IoUringCache.Caching.Options;
using IoUringCache.Caching.Telemetry;

namespace IoUringCache.Caching.Serving;

/// <summary>
/// One request's place among the passes; and among the upgrades, if it asks for one, which is all that it keeps once the origin has switched: an
/// open connection is no work for the origin. One thread at a time; owned by the request.
/// </summary>
internal sealed class PassPlace : IDisposable
{
    private readonly CacheMetrics _metrics;
    private readonly bool _isUpgrade;
    private bool _isPass = true;

    private PassPlace(CacheMetrics metrics, bool isUpgrade) => (_metrics, _isUpgrade) = (metrics, isUpgrade);

    /// <summary>Takes a place, to be disposed of; <see langword="null"/> if a limit is met.</summary>
    /// <param name="refusal">The limit, as a Cache-Status detail.</param>
    public static PassPlace? TryTake(CacheMetrics metrics, CacheOptions options, bool isUpgrade, out string refusal)
    {
        refusal = "too-many-upgrades";
        if (isUpgrade && !metrics.TryStartUpgrade(options.MaxUpgrades))
        {
            return null;
        }

        if (metrics.TryStartPass(options.MaxPasses))
        {
            return new(metrics, isUpgrade);
        }

        refusal = "too-many-passes";
        if (isUpgrade)
        {
            metrics.UpgradeEnded();
        }

        return null;
    }

    /// <summary>The origin has taken up the protocol.</summary>
    public void Switched() => EndPass();

    public void Dispose()
    {
        EndPass();
        if (_isUpgrade)
        {
            _metrics.UpgradeEnded();
        }
    }

    private void EndPass()
    {
        if (_isPass)
        {
            _isPass = false;
            _metrics.PassEnded();
        }
    }
}
