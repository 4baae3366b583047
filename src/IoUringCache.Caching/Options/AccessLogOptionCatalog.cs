using static IoUringCache.Caching.Options.OptionCatalog;

namespace IoUringCache.Caching.Options;

/// <summary>The options of the access log, which the service alone has; as <see cref="OptionCatalog"/>. Immutable; any thread.</summary>
internal static class AccessLogOptionCatalog
{
    public static readonly Option<string> Path = Text(
        "AccessLog:Path", "path|-", "File that gets a line for each request, begun anew on SIGUSR1; - is standard output. Empty: none.");

    public static readonly Option<AccessLogFormat> Format = Choice<AccessLogFormat>(
        "AccessLog:Format", "Json", "What a line looks like. Combined and Common end with how the cache answered, such as hit or miss.");

    public static readonly Option<long?> MaxBytes = new(
        "AccessLog:MaxBytes", "", BytesForm, "Size at which a file is full: it is renamed to .1, that before it to .2. Unset: no limit.",
        text => text.Length == 0 ? null : ValueParser.Bytes(text, 4096, 1L << 50));

    public static readonly Option<int> KeepFiles = Count("AccessLog:KeepFiles", "5", 1, 1000, "Full files that are kept.");

    public static readonly Option<long> QueueBytes = new(
        "AccessLog:QueueBytes", "8MiB", BytesForm, "Memory of lines that wait to be written. Above it, lines are dropped and counted.",
        text => ValueParser.Bytes(text, 131072, 1 << 30));

    /// <summary>In the order of <c>--help</c>.</summary>
    public static readonly IReadOnlyList<Option> All = [Path, Format, MaxBytes, KeepFiles, QueueBytes];
}

/// <summary>What a line of the access log looks like.</summary>
internal enum AccessLogFormat
{
    /// <summary>An object of JSON.</summary>
    Json,

    /// <summary>Common, with <c>Referer</c> and <c>User-Agent</c> before the last word.</summary>
    Combined,

    /// <summary>Client, time, request line, status and bytes, as of the first web servers; then how the cache answered.</summary>
    Common,
}
