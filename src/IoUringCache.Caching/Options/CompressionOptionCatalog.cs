using IoUringCache.Caching.Http;

namespace IoUringCache.Caching.Options;

/// <summary>The options of what is compressed here; as <see cref="OptionCatalog"/>. Immutable; any thread.</summary>
internal static class CompressionOptionCatalog
{
    public static readonly Option<string[]> Codings = new(
        "Cache:Compress", "", "br|gzip|zstd[,...]",
        "Codings by which responses are compressed for clients that can read them, the preferred one first; each variant is made and stored once. Empty: none.",
        ValueParser.Codings);

    public static readonly Option<NameList> Types = new(
        "Cache:CompressTypes",
        "text/*,application/javascript,application/json,application/ld+json,application/manifest+json,application/xml,application/xhtml+xml,"
            + "application/rss+xml,application/atom+xml,application/dash+xml,application/vnd.apple.mpegurl,application/wasm,image/svg+xml,font/ttf,font/otf",
        "type[,type...]", "Media types that are compressed; text/* stands for all that begin so.",
        static text => ValueParser.Names(text.ToLowerInvariant()));

    public static readonly Option<long> MinBytes = OptionCatalog.Bytes(
        "Cache:CompressMinBytes", "1KiB", "Smallest body that is compressed, where the origin tells the length.");

    /// <summary>In the order of <c>--help</c>.</summary>
    public static readonly IReadOnlyList<Option> All = [Codings, Types, MinBytes];

    public static CompressionRule RuleOf(OptionValues values) => new(
        values.Get(Codings), values.Get(Types), values.Get(MinBytes));
}
