namespace IoUringCache.Caching.Options;

/// <summary>What is made of the options of a cache, and anew when they are others. Any thread; threads that meet others at once each make it.</summary>
internal sealed class MadeOfOptions<T>(LiveOptions options, Func<CacheOptions, T> make)
{
    private volatile Made? _made;

    public T Now
    {
        get
        {
            CacheOptions now = options.Now;
            Made? made = _made;
            if (made is null || !ReferenceEquals(made.Options, now))
            {
                _made = made = new(now, make(now));
            }

            return made.Value;
        }
    }

    private sealed record Made(CacheOptions Options, T Value);
}
