using System.Globalization;
using System.Runtime.CompilerServices;
using Microsoft.Extensions.Primitives;
using Microsoft.Net.Http.Headers;

namespace IoUringCache.Caching.Http;

/// <summary>
/// The request fields by which the responses of a key differ (<c>Vary</c>, RFC 9110 12.5.5), and the secondary key that they make of a
/// request (RFC 9111 4.1). A client's fields are compared with what the fetch has sent: one that it has left out counts as absent, and one that
/// no fetch carries (<c>Range</c>, forwarding fields, ...) does not count, because no answer depends on it; nor do the fields of a trace, which only say
/// who asks; nor does <c>Cookie</c>, of which a fetch carries only what is part of the key. Immutable; any thread; equal to another with the same fields.
/// </summary>
internal sealed class VaryRule : IEquatable<VaryRule>
{
    /// <summary>Of a response without Vary, which suits every request.</summary>
    public static readonly VaryRule None = new([]);

    /// <summary>A longer list is no sign of an answer that anybody else could use, and costs time with each look-up.</summary>
    private const int MaxFields = 32;

    private const string AcceptEncoding = "accept-encoding";
    private const string AcceptLanguage = "accept-language";

    /// <summary>What stands before the codings of a <see cref="CodingChoice"/> among the names.</summary>
    private const char Choice = ':';

    private readonly string[] _fields;
    private readonly string _text;

    private VaryRule(string[] fields) => (_fields, _text) = (fields, string.Join(',', fields));

    /// <summary>Names in lower case, in order; besides, with a colon before it, the list of a <see cref="CodingChoice"/>.</summary>
    public IReadOnlyList<string> Fields => _fields;

    /// <summary>Whether the list of a <see cref="CodingChoice"/> is among them.</summary>
    public bool HasChoice => Array.Exists(_fields, static name => name[0] == Choice);

    /// <summary>
    /// Reads a response's. <see langword="null"/> where no other request can be known to get the same: for <c>*</c>, for what is no list of
    /// names, and for <c>Via</c>, which this service makes anew for each request.
    /// </summary>
    public static VaryRule? Of(ResponseHead head)
    {
        StringValues vary = head[HeaderNames.Vary];
        string? codings = CodingChoice.ListOf(head);
        bool isCoded = IsCoded(head[HeaderNames.ContentEncoding]);
        if (vary.Count == 0 && !isCoded && codings is null)
        {
            return None;
        }

        SortedSet<string> fields = new(StringComparer.Ordinal);
        foreach (string? line in vary)
        {
            foreach (string name in (line ?? "").Split(',', StringSplitOptions.TrimEntries | StringSplitOptions.RemoveEmptyEntries))
            {
                if (name == "*" || !TokenText.Is(name) || Is(name, HeaderNames.Via))
                {
                    return null;
                }

                if (MakesADifference(name))
                {
                    fields.Add(name.ToLowerInvariant());
                }
            }
        }

        if (codings is not null)
        {
            // The clients are told of Accept-Encoding in any case.
            fields.Add(Choice + codings);
            if (!CodingChoice.IsOfOriginToo(head))
            {
                fields.Remove(AcceptEncoding);
            }
        }
        else if (isCoded)
        {
            // Whatever the origin says: it cannot be for clients that have not asked for it.
            fields.Add(AcceptEncoding);
        }

        return fields.Count switch
        {
            0 => None,
            > MaxFields => null,
            _ => new([.. fields]),
        };
    }

    /// <summary>For fields that somebody has chosen.</summary>
    public static VaryRule Of(IEnumerable<string> names) =>
        new([.. names.Select(static name => name.ToLowerInvariant()).Distinct().Order(StringComparer.Ordinal)]);

    /// <summary>Whether a response's Vary names one of some fields.</summary>
    public static bool Names(ResponseHead head, Predicate<string> isOneOfThem) => head[HeaderNames.Vary]
        .SelectMany(static line => (line ?? "").Split(',', StringSplitOptions.TrimEntries))
        .Any(name => isOneOfThem(name));

    /// <summary>The secondary key of a request from a client: of what a fetch for it would send that is made by this rule.</summary>
    public string KeyOf(IHeaderDictionary request)
    {
        if (_fields.Length == 0)
        {
            return "";
        }

        HashSet<string>? named = HeaderRules.NamedBy(request.Connection);
        DefaultInterpolatedStringHandler key = new(0, 0, CultureInfo.InvariantCulture, stackalloc char[256]);
        foreach (string field in _fields)
        {
            StringValues values = field[0] == Choice ? new StringValues(CodingChoice.TextOf(field.AsSpan(1), request.AcceptEncoding))
                : field == AcceptEncoding ? AcceptedCodings.Normalize(request.AcceptEncoding)
                : named?.Contains(field) == true ? StringValues.Empty
                : field == AcceptLanguage ? AcceptedLanguages.Normalize(request.AcceptLanguage)
                : request[field];
            Append(ref key, field, values);
        }

        return key.ToStringAndClear();
    }

    /// <summary>The secondary key of a fill.</summary>
    /// <param name="sent">Fields as they go to the origin, one entry for each name.</param>
    public string KeyOf(IReadOnlyList<HeaderField> sent)
    {
        DefaultInterpolatedStringHandler key = new(0, 0, CultureInfo.InvariantCulture, stackalloc char[256]);
        foreach (string field in _fields)
        {
            StringValues values = field[0] == Choice ? new StringValues(CodingChoice.TextOf(field.AsSpan(1), CodingChoice.AcceptedBy(sent)))
                : sent.FirstOrDefault(other => Is(other.Name, field)).Values;
            Append(ref key, field, values);
        }

        return key.ToStringAndClear();
    }

    /// <summary>The fields of both.</summary>
    public VaryRule With(VaryRule other) => new([.. _fields.Union(other._fields).Order(StringComparer.Ordinal)]);

    public bool Equals(VaryRule? other) => other is not null && _text == other._text;

    public override bool Equals(object? obj) => Equals(obj as VaryRule);

    public override int GetHashCode() => _text.GetHashCode(StringComparison.Ordinal);

    public override string ToString() => _text;

    /// <summary>
    /// The name is part of it, so that keys by different rules are different. Without a value there is no equals sign, and neither names
    /// nor values can hold a line end: two requests have one key only if they have the same values.
    /// </summary>
    private static void Append(ref DefaultInterpolatedStringHandler key, string field, StringValues values)
    {
        key.AppendLiteral(field);
        for (int index = 0; index < values.Count; index++)
        {
            key.AppendLiteral(index == 0 ? "=" : ", ");
            key.AppendFormatted(values[index].AsSpan().Trim(" \t"));
        }

        key.AppendLiteral("\n");
    }

    /// <summary>
    /// No fetch carries credentials; but who has some may be given what is stored, though never where the origin says that they would have
    /// made a difference.
    /// </summary>
    private static bool MakesADifference(string name) =>
        HeaderRules.RefusalOnFetch(name) is null || Is(name, HeaderNames.AcceptEncoding) || Is(name, HeaderNames.Authorization);

    private static bool IsCoded(StringValues codings) =>
        codings.Count > 0 && !(codings.Count == 1 && codings[0].AsSpan().Trim(" \t") is var coding
            && (coding.IsEmpty || coding.Equals(AcceptedCodings.Identity, StringComparison.OrdinalIgnoreCase)));

    private static bool Is(string name, string other) => name.Equals(other, StringComparison.OrdinalIgnoreCase);
}
