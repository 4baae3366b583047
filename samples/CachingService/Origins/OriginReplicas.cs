using CachingService.Options;

namespace CachingService.Origins;

/// <summary>
/// The addresses of the origin in the order in which they are preferred. All hold the same objects, so a failure of one is a reason to ask
/// the next. Any thread; one per service.
/// </summary>
internal sealed class OriginReplicas
{
    private readonly OriginReplica[] _all;

    /// <param name="urls">At least one, without trailing slashes. A single one is never ejected: there would be nobody to ask.</param>
    /// <param name="options">When and for how long one is ejected.</param>
    /// <param name="time">Clock of the ejections.</param>
    public OriginReplicas(IReadOnlyList<string> urls, OriginOptions options, TimeProvider time) =>
        _all = [.. urls.Select(url => new OriginReplica(url, urls.Count > 1 ? options.EjectAfter : null, options.EjectTime, time))];

    public IReadOnlyList<OriginReplica> All => _all;

    /// <summary>
    /// The first that is not ejected, beginning after the one that has just failed, which comes last. With all ejected, the first in this
    /// order: a guess that costs one request is better than a certain failure.
    /// </summary>
    public OriginReplica Choose(OriginReplica? failed)
    {
        int start = Array.IndexOf(_all, failed) + 1;
        for (int step = 0; step < _all.Length; step++)
        {
            OriginReplica candidate = _all[(start + step) % _all.Length];
            if (!candidate.IsEjected)
            {
                return candidate;
            }
        }

        return _all[start % _all.Length];
    }
}
