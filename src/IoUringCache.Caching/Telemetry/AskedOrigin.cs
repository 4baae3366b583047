namespace IoUringCache.Caching.Telemetry;

/// <summary>Which address of the origin a fetch or pass has asked last, for the access log. Written by the fetch or pass; any thread reads.</summary>
internal sealed class AskedOrigin
{
    private volatile string? _url;

    /// <summary>Without a trailing slash; <see langword="null"/> before the first address is asked, and where none is.</summary>
    public string? Url
    {
        get => _url;
        set => _url = value;
    }
}
