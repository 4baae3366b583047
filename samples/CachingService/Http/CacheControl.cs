using Microsoft.Extensions.Primitives;

namespace CachingService.Http;

/// <summary>
/// The directives of <c>Cache-Control</c> that this cache acts on (RFC 9111 5.2). Names are matched without regard to case, arguments
/// may be tokens or quoted strings, and of two values the more restrictive one counts (4.2.1). Immutable; any thread.
/// </summary>
internal sealed record CacheControl
{
    public bool NoStore { get; private set; }

    /// <summary>Also set by the qualified form, which names fields: treating it as the whole is allowed and never wrong.</summary>
    public bool NoCache { get; private set; }

    /// <summary>Also set by the qualified form.</summary>
    public bool Private { get; private set; }

    /// <summary><c>must-revalidate</c> or <c>proxy-revalidate</c>.</summary>
    public bool MustRevalidate { get; private set; }

    public TimeSpan? MaxAge { get; private set; }

    public TimeSpan? SharedMaxAge { get; private set; }

    /// <summary>Reads all lines of the field.</summary>
    public static CacheControl Parse(StringValues lines)
    {
        CacheControl control = new();
        foreach (string? line in lines)
        {
            ReadOnlySpan<char> rest = line.AsSpan();
            while (!rest.IsEmpty)
            {
                control.Apply(TakeDirective(ref rest));
            }
        }

        return control;
    }

    /// <summary>Cuts the text before the next comma that stands outside quotes.</summary>
    private static ReadOnlySpan<char> TakeDirective(ref ReadOnlySpan<char> rest)
    {
        bool isQuoted = false;
        for (int index = 0; index < rest.Length; index++)
        {
            switch (rest[index])
            {
                case '"':
                    isQuoted = !isQuoted;
                    break;
                case '\\' when isQuoted:
                    index++;
                    break;
                case ',' when !isQuoted:
                    ReadOnlySpan<char> directive = rest[..index];
                    rest = rest[(index + 1)..];
                    return directive;
            }
        }

        ReadOnlySpan<char> last = rest;
        rest = default;
        return last;
    }

    private void Apply(ReadOnlySpan<char> directive)
    {
        int separator = directive.IndexOf('=');
        ReadOnlySpan<char> name = (separator < 0 ? directive : directive[..separator]).Trim();
        ReadOnlySpan<char> argument = separator < 0 ? default : directive[(separator + 1)..].Trim();
        switch (name)
        {
            case var _ when Is(name, "no-store"):
                NoStore = true;
                break;
            case var _ when Is(name, "no-cache"):
                NoCache = true;
                break;
            case var _ when Is(name, "private"):
                Private = true;
                break;
            case var _ when Is(name, "must-revalidate") || Is(name, "proxy-revalidate"):
                MustRevalidate = true;
                break;
            case var _ when Is(name, "max-age"):
                MaxAge = Shorter(MaxAge, ParseSeconds(argument));
                break;
            case var _ when Is(name, "s-maxage"):
                SharedMaxAge = Shorter(SharedMaxAge, ParseSeconds(argument));
                break;
        }
    }

    private static bool Is(ReadOnlySpan<char> name, string expected) => name.Equals(expected, StringComparison.OrdinalIgnoreCase);

    private static TimeSpan Shorter(TimeSpan? first, TimeSpan second) => first < second ? first.Value : second;

    /// <summary>Zero for what is no number: invalid freshness information means stale (RFC 9111 4.2.1).</summary>
    private static TimeSpan ParseSeconds(ReadOnlySpan<char> text)
    {
        if (text.Length >= 2 && text[0] == '"' && text[^1] == '"')
        {
            text = text[1..^1];
        }

        return DeltaSeconds.TryParse(text, out TimeSpan value) ? value : TimeSpan.Zero;
    }
}
