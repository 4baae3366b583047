using IoUringCache.Caching.Options;
using Microsoft.AspNetCore.Connections;

namespace IoUringCache.Caching.Origins;

/// <summary>
/// The addresses of the origin in the order in which they are preferred. All hold the same objects, so a failure of one is a reason to ask
/// the next. Any thread; one per service.
/// </summary>
internal sealed class OriginReplicas : IDisposable
{
    private readonly OriginReplica[] _all;
    private readonly int _maxFills;

    /// <param name="urls">At least one, without trailing slashes.</param>
    /// <param name="options">The limits and time-outs of each.</param>
    /// <param name="connections">Makes connections to them.</param>
    /// <param name="time">Clock of their circuits and time-outs.</param>
    public OriginReplicas(IReadOnlyList<string> urls, OriginOptions options, IConnectionFactory connections, TimeProvider time)
    {
        _maxFills = options.MaxFills;
        _all = [.. urls.Select(url => new OriginReplica(url, MakeSender(url, options, connections, time), options, isAlone: urls.Count == 1, time))];
    }

    public IReadOnlyList<OriginReplica> All => _all;

    /// <summary>
    /// Fills that may be at those that are asked now; where none is, as if it were one, so that fills learn that at once.
    /// </summary>
    public long MaxFills => _maxFills * (long)Math.Max(1, _all.Count(static replica => replica.Circuit.IsClosed));

    /// <summary>
    /// The first that admits the request, beginning after the one that has just failed, which comes last. Those that are there and only send
    /// what is of no use come after all others.
    /// </summary>
    /// <param name="failed">Where an earlier attempt has failed.</param>
    /// <param name="isPass">Whether the request is a pass; else it is a fill.</param>
    /// <param name="place">The request's, to be disposed of.</param>
    /// <exception cref="OriginException">None admits it.</exception>
    public OriginReplica Choose(OriginReplica? failed, bool isPass, out OriginPlace place)
    {
        int start = Array.IndexOf(_all, failed) + 1;
        bool isFull = false;
        for (int step = 0; step < 2 * _all.Length; step++)
        {
            OriginReplica candidate = _all[(start + step) % _all.Length];
            switch (candidate.Admit(isPass, isLastResort: step >= _all.Length, out OriginPlace? taken))
            {
                case Admission.Admitted:
                    place = taken!;
                    return candidate;
                case Admission.Full:
                    isFull = true;
                    break;
            }
        }

        throw isFull
            ? OriginException.Overloaded(isPass ? "too-many-passes-at-origin" : "too-many-fills-at-origin")
            : OriginException.CircuitOpen(_all.Min(replica => replica.Circuit.RetryAfter));
    }

    /// <summary>Closes their idle connections; those in use are closed with the end of what they are used for.</summary>
    public void Dispose() => Array.ForEach(_all, static replica => replica.Sender.Dispose());

    private static IOriginSender MakeSender(string url, OriginOptions options, IConnectionFactory connections, TimeProvider time) =>
        url.StartsWith(Uri.UriSchemeHttps, StringComparison.OrdinalIgnoreCase)
            ? new HttpsSender(url, options, time)
            : new HttpSender(new Uri(url), options, connections, time);
}
