using System.Net;
using System.Net.Sockets;
using System.Threading.RateLimiting;
using CachingService.Options;

namespace CachingService.Routes;

/// <summary>
/// A token bucket for each network of clients, by the framework's limiter, which drops a bucket that has been full for ten seconds. Their number is
/// bounded: networks beyond it share buckets. Any thread; one for each route with a limit; owned by <see cref="RouteMap"/>.
/// </summary>
internal sealed class NetworkBuckets : IDisposable
{
    /// <summary>Buckets for the networks that have none of their own.</summary>
    public const int SharedCount = 1024;

    /// <summary>At about 300 bytes each; and looking at all of them ten times a second takes a tenth of a core.</summary>
    private const int MaxNetworks = 65_536;

    private readonly RateLimitOptions _options;
    private readonly int _maxNetworks;
    private readonly PartitionedRateLimiter<IPAddress?> _limiter;
    private int _count;

    /// <param name="maxNetworks">Networks with a bucket of their own.</param>
    public NetworkBuckets(RateLimitOptions options, int maxNetworks = MaxNetworks)
    {
        (_options, _maxNetworks) = (options, maxNetworks);
        _limiter = PartitionedRateLimiter.Create<IPAddress?, (AddressFamily Family, UInt128 Network)>(client => RateLimitPartition.Get(Find(client), MakeBucket));
    }

    public int Count => Volatile.Read(ref _count);

    /// <param name="client"><see langword="null"/> for the client of a Unix socket.</param>
    /// <param name="retryAfter">When there may be one, if there is none now.</param>
    public bool TryTake(IPAddress? client, out TimeSpan retryAfter)
    {
        retryAfter = TimeSpan.Zero;
        try
        {
            using RateLimitLease lease = _limiter.AttemptAcquire(client);
            return lease.IsAcquired || !lease.TryGetMetadata(MetadataName.RetryAfter, out retryAfter);
        }
        catch (ObjectDisposedException)
        {
            // The bucket was dropped in this moment because it was full, or all were because a reload has brought another limit.
            return true;
        }
    }

    public void Dispose() => _limiter.Dispose();

    private (AddressFamily Family, UInt128 Network) Find(IPAddress? client)
    {
        (AddressFamily Family, UInt128 Network) network = _options.Networks.NetworkOf(client);
        return Count < _maxNetworks ? network : (AddressFamily.Unspecified, (uint)network.GetHashCode() % SharedCount);
    }

    private Bucket MakeBucket((AddressFamily Family, UInt128 Network) network)
    {
        Interlocked.Increment(ref _count);
        return new(this);
    }

    /// <summary>The framework's bucket, counted while it is there. Any thread; owned by the limiter, which also fills it.</summary>
    private sealed class Bucket(NetworkBuckets owner) : ReplenishingRateLimiter
    {
        private readonly TokenBucketRateLimiter _tokens = new(new()
        {
            TokenLimit = owner._options.Burst,

            // One by one, so that the time until the next is what a client is told.
            TokensPerPeriod = 1,
            ReplenishmentPeriod = owner._options.Rate.Interval,
            QueueLimit = 0,
            AutoReplenishment = false,
        });

        public override TimeSpan? IdleDuration => _tokens.IdleDuration;

        public override bool IsAutoReplenishing => false;

        public override TimeSpan ReplenishmentPeriod => _tokens.ReplenishmentPeriod;

        public override bool TryReplenish() => _tokens.TryReplenish();

        public override RateLimiterStatistics? GetStatistics() => _tokens.GetStatistics();

        protected override RateLimitLease AttemptAcquireCore(int permitCount) => _tokens.AttemptAcquire(permitCount);

        protected override ValueTask<RateLimitLease> AcquireAsyncCore(int permitCount, CancellationToken cancellationToken) =>
            _tokens.AcquireAsync(permitCount, cancellationToken);

        protected override void Dispose(bool disposing)
        {
            _tokens.Dispose();
            Interlocked.Decrement(ref owner._count);
        }
    }
}
