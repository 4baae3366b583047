namespace IoUringCache.Caching.Load;

/// <summary>
/// Judges how late a loop is, by the shortest of the delays that were measured in a while: a burst, a collection and a processor that was
/// taken away make some of them long, and only a queue that stands makes all of them so (CoDel, RFC 8289 3). One thread at a time writes;
/// owned by its probe.
/// </summary>
/// <param name="target">The delay at which the first thing is shed, as it is at the moment; 0: nothing is.</param>
internal sealed class DelayWindow(Func<TimeSpan> target)
{
    /// <summary>CoDel's interval: longer than most bursts, and short beside the second in which a client would ask again.</summary>
    public static readonly TimeSpan Length = TimeSpan.FromMilliseconds(100);

    /// <summary>Of fewer delays the shortest proves nothing. Where each is long, so is the window.</summary>
    public const int LeastDelays = 4;

    private TimeSpan _begun;
    private int _count;
    private TimeSpan _shortest;
    private int _step;

    /// <summary>What the last full window came to. Any thread.</summary>
    public LoadStep Step => (LoadStep)Volatile.Read(ref _step);

    /// <param name="now">Since any moment, the same each time.</param>
    public void Add(TimeSpan now, TimeSpan delay)
    {
        if (_count == 0)
        {
            (_begun, _shortest) = (now - delay, delay);
        }

        _count++;
        _shortest = delay < _shortest ? delay : _shortest;
        if (_count >= LeastDelays && now - _begun >= Length)
        {
            Volatile.Write(ref _step, (int)Judge(Step, _shortest));
            _count = 0;
        }
    }

    /// <summary>Forgets everything: nobody has looked for a while.</summary>
    public void Clear()
    {
        _count = 0;
        Volatile.Write(ref _step, (int)LoadStep.Normal);
    }

    /// <summary>From where on a step sheds.</summary>
    public static TimeSpan ThresholdOf(LoadStep step, TimeSpan target) => target * (1 << ((int)step - 1));

    /// <summary>Half of a threshold is the one before it, so a step is left by two: what it has shed may not bring it back at once.</summary>
    private LoadStep Judge(LoadStep current, TimeSpan shortest)
    {
        TimeSpan first = target();
        if (first == TimeSpan.Zero)
        {
            return LoadStep.Normal;
        }

        LoadStep judged = LoadStep.Normal;
        for (LoadStep step = LoadStep.NoNewFills; step <= LoadStep.HalfOfRequests; step++)
        {
            TimeSpan threshold = ThresholdOf(step, first) / (step <= current ? 2 : 1);
            judged = shortest >= threshold ? step : judged;
        }

        return judged;
    }
}
