using IoUringCache.Caching.Http;

namespace IoUringCache.Caching.Options;

/// <summary>Parsers of the address options. Each throws <see cref="FormatException"/> with what was expected. Any thread.</summary>
internal static class AddressParser
{
    private const string FileScheme = "file:";

    /// <summary>
    /// The origin's base URL without its trailing slash, e.g. <c>http://127.0.0.1:9000</c> or <c>https://media.example/base</c>;
    /// <see langword="null"/> for an empty text. Keys are appended to it as they are, so it holds no query and no fragment.
    /// </summary>
    public static string? Origin(string text)
    {
        if (text.Length == 0)
        {
            return null;
        }

        bool isUsable = Uri.TryCreate(text, UriKind.Absolute, out Uri? url)
            && (url.Scheme == Uri.UriSchemeHttp || url.Scheme == Uri.UriSchemeHttps)
            && url.Host.Length > 0
            && url.UserInfo.Length == 0
            && text.AsSpan().IndexOfAny("?#\\ ") < 0;
        return isUsable
            ? text.TrimEnd('/')
            : throw new FormatException("expected http://host[:port][/path] or https://..., without user, query or fragment.");
    }

    /// <summary>As <see cref="Origin"/>, or a directory: <c>file:///srv/files</c>, in which escapes stand for other characters.</summary>
    public static OriginAddress OriginOrDirectory(string text) =>
        text.StartsWith(FileScheme, StringComparison.OrdinalIgnoreCase) ? new(null, Directory(text)) : new(Origin(text), null);

    /// <summary>Any number of different base URLs, separated by semicolons; see <see cref="Origin"/>.</summary>
    public static string[] Origins(string text)
    {
        string[] urls = Array.ConvertAll(
            text.Split(';', StringSplitOptions.RemoveEmptyEntries | StringSplitOptions.TrimEntries), url => Origin(url)!);
        return urls.Distinct(StringComparer.OrdinalIgnoreCase).Count() == urls.Length
            ? urls
            : throw new FormatException("expected different URLs.");
    }

    /// <summary>A host name, or <see langword="null"/> for an empty text.</summary>
    public static string? OptionalHostName(string text) =>
        text.Length == 0 ? null
        : Uri.CheckHostName(text) == UriHostNameType.Dns ? text
        : throw new FormatException("expected a host name such as media.example, without scheme and port.");

    /// <summary>A host with or without a port, as the Host field has it; or <see langword="null"/> for an empty text.</summary>
    public static string? OptionalAuthority(string text) =>
        text.Length == 0 ? null
        : Uri.TryCreate($"http://{text}/", UriKind.Absolute, out Uri? url) && url.Authority.Equals(text, StringComparison.OrdinalIgnoreCase) ? text
        : throw new FormatException("expected a host such as media.example or media.example:8080, without scheme and path.");

    /// <summary>An absolute path, or <see langword="null"/> for an empty text.</summary>
    public static string? OptionalPath(string text) =>
        text.Length == 0 ? null
        : text[0] == '/' && RequestTarget.Check(text, out _) == TargetVerdict.Valid ? text
        : throw new FormatException("expected a path such as /health, without dot segments and spaces.");

    /// <summary>One or more listen addresses, separated by semicolons.</summary>
    public static string[] ListenAddresses(string text) => OptionalListenAddresses(text) is { Length: > 0 } addresses
        ? addresses
        : throw new FormatException("expected at least one URL such as http://127.0.0.1:8080.");

    /// <summary>Any number of listen addresses, separated by semicolons.</summary>
    public static string[] OptionalListenAddresses(string text) =>
        Array.ConvertAll(text.Split(';', StringSplitOptions.RemoveEmptyEntries | StringSplitOptions.TrimEntries), ListenAddress);

    /// <summary>One listen address without TLS, or <see langword="null"/> for an empty text.</summary>
    public static string? OptionalPlainListenAddress(string text) =>
        text.Length == 0 ? null
        : !text.StartsWith(Uri.UriSchemeHttps + ":", StringComparison.OrdinalIgnoreCase) ? ListenAddress(text)
        : throw new FormatException("expected a URL such as http://127.0.0.1:8081; this address has no TLS.");

    /// <summary>Servers of one NATS cluster, separated by commas, as its client takes them; <see langword="null"/> for an empty text.</summary>
    public static string? OptionalNats(string text) =>
        text.Length == 0 ? null
        : text.Split(',').All(static server => Uri.TryCreate(server.Trim(), UriKind.Absolute, out Uri? url)
            && url is { Scheme: "nats" or "tls", Host.Length: > 0, AbsolutePath: "/" or "", Query: "" }) ? text
        : throw new FormatException("expected nats://host[:port] or tls://host[:port], several separated by commas.");

    /// <summary>A path of plain characters with a slash at both ends, which needs no escapes, neither in a target nor in a route.</summary>
    public static string PublicPath(string text) =>
        text.StartsWith('/') && text.EndsWith('/') && !text.Contains("//")
        && text.All(static character => char.IsAsciiLetterOrDigit(character) || character is '/' or '-' or '_' or '.' or '~')
        && RequestTarget.Check(text, out _) == TargetVerdict.Valid
            ? text
            : throw new FormatException("expected / or a path such as /media/ of letters, digits and any of -_.~ , with a slash at both ends.");

    /// <summary>
    /// The path of a file URL (RFC 8089), without the host that it may have there. The root is refused: in all likelihood a variable is empty.
    /// </summary>
    private static string Directory(string text)
    {
        const string Start = $"{FileScheme}//";
        string path = text.StartsWith(Start, StringComparison.OrdinalIgnoreCase) ? Uri.UnescapeDataString(text[Start.Length..]).TrimEnd('/') : "";
        return path.StartsWith('/') && text.AsSpan().IndexOfAny("?#") < 0 && !path.Contains('\0')
            ? path
            : throw new FormatException("expected file:///directory: an absolute path other than the root, without host, query or fragment.");
    }

    private static string ListenAddress(string text)
    {
        try
        {
            BindingAddress address = BindingAddress.Parse(text);
            if ((address.Scheme == Uri.UriSchemeHttp || address.Scheme == Uri.UriSchemeHttps)
                && address.PathBase.Length == 0
                && (address.IsUnixPipe || address.Port is >= 0 and <= ushort.MaxValue))
            {
                return text;
            }
        }
        catch (FormatException)
        {
            // Said in our own words below: one sentence serves every malformed address.
        }

        throw new FormatException("expected a URL such as http://127.0.0.1:8080, https://[::]:8443 or http://unix:/run/cache.sock.");
    }
}

/// <summary>What stands behind the service: one of the two, or neither for the embedded demo origin. Immutable.</summary>
/// <param name="Url">Base URL without its trailing slash.</param>
/// <param name="Directory">Absolute path without its trailing slash.</param>
internal readonly record struct OriginAddress(string? Url, string? Directory);
