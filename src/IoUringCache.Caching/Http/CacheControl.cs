using Microsoft.Extensions.Primitives;

namespace IoUringCache.Caching.Http;

/// <summary>
/// The directives of <c>Cache-Control</c> that this cache acts on (RFC 9111 5.2), and of a targeted field in its place (RFC 9213).
/// Names are matched without regard to case, arguments may be tokens or quoted strings, unknown directives are ignored, and of two values
/// the more restrictive one counts (4.2.1). <c>no-store</c>, <c>no-cache</c> and <c>private</c> forbid wherever they stand outside quotes: an
/// origin that separates its directives by a semicolon or a space means what it says. Immutable once made; any thread.
/// </summary>
internal sealed class CacheControl
{
    private const string StaleWhileRevalidateName = "stale-while-revalidate";
    private const string StaleIfErrorName = "stale-if-error";

    /// <summary>Characters; a longer line is read each time.</summary>
    private const int LongestRecent = 256;

    /// <summary>The last lines, by length and end: the responses of an origin have few different ones.</summary>
    private static readonly RecentTexts<CacheControl> s_recent = new();

    private HashSet<string>? _withheldFields;
    private bool _hasMustRevalidate;

    public bool NoStore { get; private set; }

    /// <summary>The form without names, or one whose names cannot be read.</summary>
    public bool NoCache { get; private set; }

    /// <summary>The form without names, or one whose names cannot be read.</summary>
    public bool Private { get; private set; }

    public bool Public { get; private set; }

    /// <summary><c>must-revalidate</c> or <c>proxy-revalidate</c>.</summary>
    public bool MustRevalidate { get; private set; }

    public bool MustUnderstand { get; private set; }

    /// <summary>The content goes on as it came (RFC 9111 5.2.2.6).</summary>
    public bool NoTransform { get; private set; }

    public TimeSpan? MaxAge { get; private set; }

    public TimeSpan? SharedMaxAge { get; private set; }

    /// <summary>RFC 5861 3.</summary>
    public TimeSpan? StaleWhileRevalidate { get; private set; }

    /// <summary>RFC 5861 4.</summary>
    public TimeSpan? StaleIfError { get; private set; }

    /// <summary>
    /// Whether a stale response may not be served without asking, whatever permits it otherwise (RFC 9111 4.2.4); s-maxage says so too
    /// (5.2.2.10).
    /// </summary>
    public bool ForbidsStale => NoCache || MustRevalidate || SharedMaxAge is not null;

    /// <summary>
    /// Whether an answer to a request with <c>Authorization</c> may be for others too (RFC 9111 3.5). <c>proxy-revalidate</c> does not say so.
    /// </summary>
    public bool AllowsAuthorization => Public || _hasMustRevalidate || SharedMaxAge is not null;

    /// <summary>
    /// Fields that <c>private="..."</c> and <c>no-cache="..."</c> name: for the client that caused the response, and not for those who
    /// get it from here (5.2.2.4, 5.2.2.7). <see langword="null"/> for none; names without regard to case.
    /// </summary>
    public IReadOnlySet<string>? WithheldFields => _withheldFields;

    /// <summary>Reads all lines of the field.</summary>
    public static CacheControl Parse(StringValues lines)
    {
        if (lines is not [{ Length: > 0 and <= LongestRecent } line])
        {
            return Read(lines);
        }

        int sum = line.Length + (line[^1] * 5);
        if (!s_recent.TryFind(line, sum, out CacheControl? control))
        {
            control = Read(lines);
            s_recent.Note(line, sum, control);
        }

        return control;
    }

    private static CacheControl Read(StringValues lines)
    {
        CacheControl control = new();
        foreach (string? line in lines)
        {
            DirectiveReader reader = new(line);
            while (reader.TryRead(out ReadOnlySpan<char> name, out ReadOnlySpan<char> argument, out bool hasArgument))
            {
                control.Apply(name, argument, hasArgument);
                control.ForbidByWordsIn(TokenText.Is(name) ? argument : reader.Directive);
            }
        }

        return control;
    }

    /// <summary>
    /// Reads a response's: a targeted field that is valid and not empty, and <c>Cache-Control</c> otherwise (RFC 9213 2.2). A word that forbids
    /// counts in a malformed targeted field too, and in a valid one where it is no member, as in <c>max-age=60; no-store</c>: a cache may always
    /// store less.
    /// </summary>
    /// <param name="targeted">All lines of the targeted field.</param>
    /// <param name="general">All lines of <c>Cache-Control</c>.</param>
    /// <param name="isTargeted">True if the targeted field counts.</param>
    public static CacheControl Parse(StringValues targeted, StringValues general, out bool isTargeted)
    {
        Dictionary<string, StructuredValue>? members = null;
        isTargeted = targeted.Count > 0 && StructuredField.TryParse(targeted, out members) && members.Count > 0;
        if (targeted.Count == 0)
        {
            return Parse(general);
        }

        CacheControl control = isTargeted ? Read(members!) : Read(general);
        foreach (string? line in targeted)
        {
            control.ForbidByWordsIn(line, members);
        }

        return control;
    }

    /// <summary>Reads the members of a targeted field, where types are strict: only an integer is a lifetime (RFC 9213 2.1).</summary>
    private static CacheControl Read(Dictionary<string, StructuredValue> members)
    {
        CacheControl control = new();
        foreach ((string name, StructuredValue value) in members)
        {
            bool isLifetime = Is(name, "max-age") || Is(name, "s-maxage") || Is(name, StaleWhileRevalidateName) || Is(name, StaleIfErrorName);
            bool hasArgument = isLifetime || value.Type is StructuredType.String or StructuredType.Token;
            if (isLifetime || !value.IsFalse)
            {
                control.Apply(name, isLifetime && value.Type != StructuredType.Integer ? "" : value.Text, hasArgument);
            }
        }

        return control;
    }

    private void Apply(ReadOnlySpan<char> name, ReadOnlySpan<char> argument, bool hasArgument)
    {
        switch (name)
        {
            case var _ when Is(name, "no-store"):
                NoStore = true;
                break;
            case var _ when Is(name, "no-cache"):
                NoCache |= !hasArgument || !TryWithhold(argument);
                break;
            case var _ when Is(name, "private"):
                Private |= !hasArgument || !TryWithhold(argument);
                break;
            case var _ when Is(name, "public"):
                Public = true;
                break;
            case var _ when Is(name, "must-revalidate"):
                MustRevalidate = _hasMustRevalidate = true;
                break;
            case var _ when Is(name, "proxy-revalidate"):
                MustRevalidate = true;
                break;
            case var _ when Is(name, "must-understand"):
                MustUnderstand = true;
                break;
            case var _ when Is(name, "no-transform"):
                NoTransform = true;
                break;
            case var _ when Is(name, "max-age"):
                MaxAge = Shorter(MaxAge, ParseSeconds(argument));
                break;
            case var _ when Is(name, "s-maxage"):
                SharedMaxAge = Shorter(SharedMaxAge, ParseSeconds(argument));
                break;
            case var _ when Is(name, StaleWhileRevalidateName):
                StaleWhileRevalidate = Shorter(StaleWhileRevalidate, ParseSeconds(argument));
                break;
            case var _ when Is(name, StaleIfErrorName):
                StaleIfError = Shorter(StaleIfError, ParseSeconds(argument));
                break;
        }
    }

    /// <param name="text">Whose words count, except those in quotes.</param>
    /// <param name="members">What is understood in the text, and so means what it says.</param>
    private void ForbidByWordsIn(ReadOnlySpan<char> text, Dictionary<string, StructuredValue>? members = null)
    {
        while (!text.IsEmpty)
        {
            ReadOnlySpan<char> word = text[..TokenText.LengthOf(text)];
            NoStore |= Forbids(word, "no-store", members);
            NoCache |= Forbids(word, "no-cache", members);
            Private |= Forbids(word, "private", members);
            MustRevalidate |= Forbids(word, "must-revalidate", members) || Forbids(word, "proxy-revalidate", members);
            text = text[(!word.IsEmpty ? word.Length : text[0] == '"' ? QuotedText.LengthOf(text) : 1)..];
        }
    }

    private static bool Forbids(ReadOnlySpan<char> word, string name, Dictionary<string, StructuredValue>? members) =>
        Is(word, name) && members?.ContainsKey(name) != true;

    private static bool Is(ReadOnlySpan<char> name, string expected) => name.Equals(expected, StringComparison.OrdinalIgnoreCase);

    private static TimeSpan Shorter(TimeSpan? first, TimeSpan second) => first < second ? first.Value : second;

    /// <summary>Notes the fields of a list; false if it is none, and the directive then counts as the form without names.</summary>
    private bool TryWithhold(ReadOnlySpan<char> argument)
    {
        ReadOnlySpan<char> list = Unquote(argument);
        bool hasNames = false;
        foreach (Range part in list.Split(','))
        {
            ReadOnlySpan<char> name = list[part].Trim();
            if (!TokenText.Is(name))
            {
                return false;
            }

            if (!name.IsEmpty)
            {
                (_withheldFields ??= new(StringComparer.OrdinalIgnoreCase)).Add(name.ToString());
                hasNames = true;
            }
        }

        return hasNames;
    }

    /// <summary>Zero for what is no number: invalid freshness information means stale (RFC 9111 4.2.1).</summary>
    private static TimeSpan ParseSeconds(ReadOnlySpan<char> text) =>
        DeltaSeconds.TryParse(Unquote(text), out TimeSpan value) ? value : TimeSpan.Zero;

    private static ReadOnlySpan<char> Unquote(ReadOnlySpan<char> text) =>
        text.Length >= 2 && text[0] == '"' && text[^1] == '"' ? text[1..^1] : text;
}
