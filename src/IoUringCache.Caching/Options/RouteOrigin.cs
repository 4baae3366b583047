namespace IoUringCache.Caching.Options;

/// <summary>Where the objects of the service, or of one of its routes, come from. Immutable; any thread; equal to another with the same places.</summary>
/// <param name="Urls">Base URLs of one HTTP origin without trailing slashes, the preferred one first; none for a directory.</param>
/// <param name="Directory">Absolute path of a directory that is served in the place of an origin; <see langword="null"/>: none.</param>
internal sealed record RouteOrigin(IReadOnlyList<string> Urls, string? Directory)
{
    /// <summary>None is named: the embedded demo origin, or the origin of the other routes.</summary>
    public bool IsNone => Urls.Count == 0 && Directory is null;

    /// <summary>A route that names an origin has nothing of the service's.</summary>
    /// <exception cref="OptionException">It is named in two ways.</exception>
    public static RouteOrigin Of(OptionValues values)
    {
        OriginAddress one = values.Has(OptionCatalog.Origin) ? values.Get(OptionCatalog.Origin) : default;
        string[] several = values.Has(OptionCatalog.Origins) ? values.Get(OptionCatalog.Origins) : [];
        if (one == default && several.Length == 0 && values.General is { } general)
        {
            return Of(general);
        }

        return one == default ? new(several, null)
            : several.Length == 0 ? new([.. one.Url is { } url ? [url] : Array.Empty<string>()], one.Directory)
            : throw new OptionException($"Option {values.NameOf(OptionCatalog.Origins)}: cannot be given together with {values.NameOf(OptionCatalog.Origin)}.");
    }

    public bool Equals(RouteOrigin? other) => other is not null && Directory == other.Directory && Urls.SequenceEqual(other.Urls);

    public override int GetHashCode() => ToString().GetHashCode(StringComparison.Ordinal);

    /// <summary>For a log.</summary>
    public override string ToString() => Directory is null ? string.Join(';', Urls) : $"{Directory} (a directory)";
}
