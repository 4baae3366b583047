using IoUringCache.Caching.Options;

namespace IoUringCache.Caching.Serving;

/// <summary>The operator's bodies for errors that are not the origin's. Immutable; any thread.</summary>
internal sealed class ErrorPages
{
    public const string MediaType = "text/html; charset=utf-8";

    public static readonly ErrorPages None = new([]);

    /// <summary>A page is in memory and in each answer: this is a text with its style, and no picture.</summary>
    private const int MaxBytes = 256 * 1024;

    private readonly Dictionary<string, byte[]> _pages;

    private ErrorPages(Dictionary<string, byte[]> pages) => _pages = pages;

    /// <summary>Reads a directory with files such as <c>503.html</c>, <c>4xx.html</c> and <c>5xx.html</c>.</summary>
    /// <exception cref="OptionException">It cannot be read, has no such file, or a larger one.</exception>
    public static ErrorPages Read(string directory)
    {
        try
        {
            Dictionary<string, byte[]> pages = Directory.EnumerateFiles(directory, "*.html")
                .Where(static file => IsStatus(Path.GetFileNameWithoutExtension(file)))
                .ToDictionary(static file => Path.GetFileNameWithoutExtension(file), ReadOne);
            return pages.Count > 0 ? new(pages) : throw Fault($"'{directory}' has no file such as 503.html or 5xx.html.");
        }
        catch (Exception failure) when (failure is IOException or UnauthorizedAccessException)
        {
            throw Fault($"cannot read '{directory}': {failure.Message}");
        }
    }

    /// <summary>The page of a status, else that of its class; empty if there is none, or it is no error.</summary>
    public byte[] Of(int status) =>
        _pages.Count > 0 && status >= StatusCodes.Status400BadRequest && (_pages.TryGetValue($"{status}", out byte[]? page) || _pages.TryGetValue($"{status / 100}xx", out page))
            ? page
            : [];

    private static bool IsStatus(string name) => name is ['4' or '5', 'x', 'x'] or ['4' or '5', >= '0' and <= '9', >= '0' and <= '9'];

    private static byte[] ReadOne(string file) => new FileInfo(file).Length <= MaxBytes
        ? File.ReadAllBytes(file)
        : throw Fault($"'{file}' has more than {MaxBytes} bytes.");

    private static OptionException Fault(string reason) =>
        new($"Option {RouteOptionCatalog.ErrorPageDirectory.Name}: {reason}") { Name = RouteOptionCatalog.ErrorPageDirectory.Name };
}
