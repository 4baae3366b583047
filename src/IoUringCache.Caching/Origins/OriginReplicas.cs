using IoUringCache.Caching.Options;

namespace IoUringCache.Caching.Origins;

/// <summary>
/// The addresses of the origin in the order in which they are preferred. All hold the same objects, so a failure of one is a reason to ask
/// the next. Any thread; one per service.
/// </summary>
internal sealed class OriginReplicas
{
    private readonly OriginReplica[] _all;

    /// <param name="urls">At least one, without trailing slashes.</param>
    /// <param name="options">The limits of each.</param>
    /// <param name="time">Clock of their circuits.</param>
    public OriginReplicas(IReadOnlyList<string> urls, OriginOptions options, TimeProvider time) =>
        _all = [.. urls.Select(url => new OriginReplica(url, options, isAlone: urls.Count == 1, time))];

    public IReadOnlyList<OriginReplica> All => _all;

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
}
