using IoUringCache.Caching.Http;
using IoUringCache.Caching.Options;
using IoUringCache.Caching.Serving;
using Microsoft.AspNetCore.WebUtilities;

namespace IoUringCache.Caching.Admin;

/// <summary>
/// The parameters of a request to the operator's side. Percent-encoded once; a plus sign is one, because keys have them. What is unknown,
/// missing or malformed is a <see cref="FormatException"/> that names the parameter. Used by one request.
/// </summary>
internal sealed class AdminQuery
{
    /// <summary>As they came.</summary>
    private readonly Dictionary<string, string> _values = new(StringComparer.Ordinal);

    /// <param name="known">Names that may be there.</param>
    public AdminQuery(QueryString query, params ReadOnlySpan<string> known)
    {
        foreach (QueryStringEnumerable.EncodedNameValuePair pair in new QueryStringEnumerable(query.Value))
        {
            string name = Uri.UnescapeDataString(pair.EncodedName.ToString());
            if (!known.Contains(name))
            {
                throw new FormatException($"parameter '{name}': is not known here; there are {string.Join(", ", known!)}");
            }

            if (!_values.TryAdd(name, pair.EncodedValue.ToString()))
            {
                throw new FormatException($"parameter '{name}': is given twice");
            }
        }
    }

    public bool Has(string name) => _values.ContainsKey(name);

    /// <summary>A text of one character or more.</summary>
    public string Text(string name) => Uri.UnescapeDataString(Encoded(name));

    /// <summary>A tag, as <see cref="TagText"/> has it.</summary>
    public string Tag(string name) => TagText.Decode(Encoded(name));

    /// <summary>A key, as it follows <c>/object/</c> in a request; before that it may have the cookies and fields that are part of it.</summary>
    public string Key(string name)
    {
        string key = Text(name);
        return IsTarget(KeyPrefixes.TargetOf(key)) ? key : throw new FormatException($"parameter '{name}': is not what may follow /object/ in a request");
    }

    public string Prefix(string name)
    {
        string prefix = Text(name);
        return KeyPrefixes.IsPrefix(prefix) && IsTarget(prefix) ? prefix : throw new FormatException($"parameter '{name}': {KeyPrefixes.Expected}");
    }

    /// <summary>True for the name alone and for <c>true</c>; false where it is absent.</summary>
    public bool Flag(string name) => _values.TryGetValue(name, out string? text) && Uri.UnescapeDataString(text) switch
    {
        "" or "true" => true,
        "false" => false,
        _ => throw new FormatException($"parameter '{name}': expected true or false"),
    };

    /// <summary>A whole number.</summary>
    public int Count(string name, int absent, int minimum, int maximum) =>
        Parse(name, absent, text => ValueParser.Count(text, minimum, maximum));

    /// <summary>A duration from 0, which is what an absent one means.</summary>
    public TimeSpan Duration(string name, TimeSpan maximum) =>
        Parse(name, absent: TimeSpan.Zero, text => ValueParser.Duration(text, TimeSpan.Zero, maximum));

    private T Parse<T>(string name, T absent, Func<string, T> parse)
    {
        try
        {
            return _values.TryGetValue(name, out string? text) ? parse(Uri.UnescapeDataString(text)) : absent;
        }
        catch (FormatException failure)
        {
            throw new FormatException($"parameter '{name}': {failure.Message}");
        }
    }

    private static bool IsTarget(ReadOnlySpan<char> text) => RequestTarget.Check($"/object/{text}", out _) == TargetVerdict.Valid;

    private string Encoded(string name) => _values.GetValueOrDefault(name) is { Length: > 0 } text
        ? text
        : throw new FormatException($"parameter '{name}': is missing");
}
