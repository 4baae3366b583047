using IoUringCache.Caching.Options;

namespace CachingService.Options;

/// <summary>Where a line for each request goes, and what is in it; meanings and units in <see cref="AccessLogOptionCatalog"/>. Immutable; any thread.</summary>
/// <param name="Path">Of the file; <see cref="StandardOutput"/> for the program's own.</param>
/// <param name="MaxBytes">Of a file, before another is begun; <see langword="null"/>: no limit.</param>
internal sealed record AccessLogOptions(string Path, AccessLogFormat Format, long? MaxBytes, int KeepFiles, int QueueBytes)
{
    public const string StandardOutput = "-";

    /// <returns><see langword="null"/> where there is to be no access log.</returns>
    /// <exception cref="OptionException">A value is not valid, or is for nothing.</exception>
    public static AccessLogOptions? Read(IConfiguration configuration)
    {
        string path = AccessLogOptionCatalog.Path.Read(configuration);
        AccessLogOptions options = new(
            path == StandardOutput || path.Length == 0 ? path : System.IO.Path.GetFullPath(path),
            AccessLogOptionCatalog.Format.Read(configuration),
            AccessLogOptionCatalog.MaxBytes.Read(configuration),
            AccessLogOptionCatalog.KeepFiles.Read(configuration),
            (int)AccessLogOptionCatalog.QueueBytes.Read(configuration));
        return path.Length == 0 ? null
            : path != StandardOutput || options.MaxBytes is null ? options
            : throw new OptionException($"Option {AccessLogOptionCatalog.MaxBytes.Name}: cannot be given where {AccessLogOptionCatalog.Path.Name} is no file.");
    }
}
