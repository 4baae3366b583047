using IoUringCache.Caching.Http;
using Microsoft.Extensions.Primitives;

namespace IoUringCache.Caching.Options;

/// <summary>Response fields that an option gives values to, or none. Immutable; any thread; equal to another with the same text.</summary>
internal sealed class FieldList : IEquatable<FieldList>
{
    /// <summary>Those that say how the message itself is framed, and whose connection it is: the server writes them.</summary>
    private static readonly HashSet<string> s_ofTheServer = new(StringComparer.OrdinalIgnoreCase)
    {
        "Connection", "Content-Length", "Transfer-Encoding", "Trailer", "Upgrade", "Keep-Alive", "Date", CacheStatus.FieldName,
    };

    private readonly string _text;

    private FieldList(HeaderField[] fields) =>
        (Fields, _text) = (fields, string.Join('|', fields.Select(static field => $"{field.Name}: {field.Values}")));

    /// <summary>A field without a value is to be left out.</summary>
    public IReadOnlyList<HeaderField> Fields { get; }

    /// <summary>Reads <c>Name: value</c>, several separated by <c>|</c>.</summary>
    /// <exception cref="FormatException">A part is no field, or one that only the server may write.</exception>
    public static FieldList Parse(string text)
    {
        HeaderField[] fields = [.. text.Split('|', StringSplitOptions.RemoveEmptyEntries | StringSplitOptions.TrimEntries).Select(ParseField)];
        return fields.DistinctBy(static field => field.Name, StringComparer.OrdinalIgnoreCase).Count() == fields.Length
            ? new(fields)
            : throw new FormatException("expected different fields.");
    }

    public bool Equals(FieldList? other) => other is not null && _text == other._text;

    public override bool Equals(object? obj) => Equals(obj as FieldList);

    public override int GetHashCode() => _text.GetHashCode(StringComparison.Ordinal);

    /// <summary>As <see cref="Parse"/> reads it.</summary>
    public override string ToString() => _text;

    private static HeaderField ParseField(string text)
    {
        int colon = text.IndexOf(':');
        (string name, string value) = colon < 0 ? ("", "") : (text[..colon].TrimEnd(), text[(colon + 1)..].Trim());
        return name.Length == 0 || !TokenText.Is(name) || FieldText.HoldsControl(value) || value.Any(static character => character > 0xFF)
            ? throw new FormatException("expected Name: value, several separated by |; without a value the field is left out.")
            : s_ofTheServer.Contains(name) ? throw new FormatException($"the server writes {name} itself.")
            : new(name, value.Length == 0 ? StringValues.Empty : value);
    }
}
