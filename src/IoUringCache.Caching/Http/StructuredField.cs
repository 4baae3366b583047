using System.Buffers;
using System.Diagnostics.CodeAnalysis;
using Microsoft.Extensions.Primitives;

namespace IoUringCache.Caching.Http;

/// <summary>
/// Parses a dictionary or a list (RFC 8941 4.2). Strict as that RFC has it: one error anywhere, and there is no value. Any thread; an instance is one
/// parse.
/// </summary>
internal ref struct StructuredField
{
    private const string Lower = "abcdefghijklmnopqrstuvwxyz";
    private const string Upper = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    private const string Digits = "0123456789";

    private static readonly SearchValues<char> s_keyStart = SearchValues.Create(Lower + "*");
    private static readonly SearchValues<char> s_key = SearchValues.Create(Lower + Digits + "_-.*");
    private static readonly SearchValues<char> s_token = SearchValues.Create(Lower + Upper + Digits + "!#$%&'*+-.^_`|~:/");
    private static readonly SearchValues<char> s_base64 = SearchValues.Create(Lower + Upper + Digits + "+/=");
    private static readonly SearchValues<char> s_digits = SearchValues.Create(Digits);

    private ReadOnlySpan<char> _rest;

    private StructuredField(ReadOnlySpan<char> text) => _rest = text;

    /// <summary>A dictionary; false on any error. Of two members with one key, the later counts.</summary>
    public static bool TryParse(StringValues lines, [NotNullWhen(true)] out Dictionary<string, StructuredValue>? members)
    {
        StructuredField parser = Over(lines);
        members = new(StringComparer.Ordinal);
        while (!parser._rest.IsEmpty)
        {
            if (!parser.TryTakeKey(out string key) || !parser.TryReadMember(out StructuredValue value) || !parser.TryGoOn())
            {
                members = null;
                return false;
            }

            members[key] = value;
        }

        return true;
    }

    /// <summary>A list; false on any error.</summary>
    public static bool TryParseList(StringValues lines, [NotNullWhen(true)] out List<StructuredValue>? members)
    {
        StructuredField parser = Over(lines);
        members = [];
        while (!parser._rest.IsEmpty)
        {
            if (!parser.TryReadValue(out StructuredValue value) || !parser.TryGoOn())
            {
                members = null;
                return false;
            }

            members.Add(value);
        }

        return true;
    }

    private static StructuredField Over(StringValues lines) => new(string.Join(", ", lines.ToArray()).Trim(' '));

    /// <summary>To the next member or the end; false for anything else.</summary>
    private bool TryGoOn()
    {
        _rest = _rest.TrimStart(" \t");
        if (_rest.IsEmpty)
        {
            return true;
        }

        if (!TryTake(','))
        {
            return false;
        }

        _rest = _rest.TrimStart(" \t");
        return !_rest.IsEmpty;
    }

    private bool TryReadMember(out StructuredValue value)
    {
        value = StructuredValue.True;
        return TryTake('=') ? TryReadValue(out value) : TryReadParameters(ref value);
    }

    private bool TryReadValue(out StructuredValue value) =>
        (_rest.StartsWith('(') ? TryReadInnerList(out value) : TryReadItem(out value)) && TryReadParameters(ref value);

    private bool TryReadInnerList(out StructuredValue list)
    {
        list = new(StructuredType.InnerList, "");
        TryTake('(');
        while (true)
        {
            _rest = _rest.TrimStart(' ');
            if (TryTake(')'))
            {
                return true;
            }

            if (!TryReadItem(out StructuredValue item) || !TryReadParameters(ref item) || !(_rest.StartsWith(' ') || _rest.StartsWith(')')))
            {
                return false;
            }
        }
    }

    private bool TryReadParameters(ref StructuredValue value)
    {
        List<KeyValuePair<string, StructuredValue>> parameters = [];
        while (TryTake(';'))
        {
            _rest = _rest.TrimStart(' ');
            StructuredValue parameter = StructuredValue.True;
            if (!TryTakeKey(out string key) || (TryTake('=') && !TryReadItem(out parameter)))
            {
                return false;
            }

            parameters.Add(KeyValuePair.Create(key, parameter));
        }

        value = parameters.Count == 0 ? value : value with { Parameters = parameters };
        return true;
    }

    private bool TryReadItem(out StructuredValue item)
    {
        ReadOnlySpan<char> start = _rest;
        StructuredType? type = _rest.IsEmpty ? null : _rest[0] switch
        {
            '-' or (>= '0' and <= '9') => TakeNumber(),
            '"' => TryTakeString() ? StructuredType.String : null,
            ':' => TryTakeBytes() ? StructuredType.Bytes : null,
            '?' => TryTake('?') && (TryTake('0') || TryTake('1')) ? StructuredType.Boolean : null,
            '*' or (>= 'A' and <= 'Z') or (>= 'a' and <= 'z') => TakeAll(s_token) > 0 ? StructuredType.Token : null,
            _ => null,
        };
        item = new(type ?? default, start[..(start.Length - _rest.Length)].ToString());
        return type is not null;
    }

    /// <summary>At most 15 digits, or 12, a point and 3.</summary>
    private StructuredType? TakeNumber()
    {
        TryTake('-');
        int whole = TakeAll(s_digits);
        if (!TryTake('.'))
        {
            return whole is >= 1 and <= 15 ? StructuredType.Integer : null;
        }

        return whole is >= 1 and <= 12 && TakeAll(s_digits) is >= 1 and <= 3 ? StructuredType.Decimal : null;
    }

    private bool TryTakeString()
    {
        for (int index = 1; index < _rest.Length; index++)
        {
            switch (_rest[index])
            {
                case '"':
                    _rest = _rest[(index + 1)..];
                    return true;
                case '\\' when index + 1 < _rest.Length && _rest[index + 1] is '"' or '\\':
                    index++;
                    break;
                case '\\' or < ' ' or > '~':
                    return false;
            }
        }

        return false;
    }

    private bool TryTakeBytes()
    {
        TryTake(':');
        TakeAll(s_base64);
        return TryTake(':');
    }

    private bool TryTakeKey(out string key)
    {
        ReadOnlySpan<char> start = _rest;
        bool isKey = !_rest.IsEmpty && s_keyStart.Contains(_rest[0]);
        key = isKey ? start[..TakeAll(s_key)].ToString() : "";
        return isKey;
    }

    /// <summary>Takes all characters up to the first that is not in the set, and counts them.</summary>
    private int TakeAll(SearchValues<char> set)
    {
        int end = _rest.IndexOfAnyExcept(set);
        int count = end < 0 ? _rest.Length : end;
        _rest = _rest[count..];
        return count;
    }

    private bool TryTake(char expected)
    {
        bool isNext = !_rest.IsEmpty && _rest[0] == expected;
        _rest = isNext ? _rest[1..] : _rest;
        return isNext;
    }
}

/// <summary>A member of a structured field, or a parameter of one. Immutable; any thread.</summary>
/// <param name="Text">As it came, quotes and signs included, parameters not; <c>?1</c> where there is a key alone.</param>
internal readonly record struct StructuredValue(StructuredType Type, string Text)
{
    /// <summary>What a key alone says.</summary>
    public static StructuredValue True => new(StructuredType.Boolean, "?1");

    /// <summary>In the order in which they came; of two with one key, the later counts.</summary>
    public IReadOnlyList<KeyValuePair<string, StructuredValue>> Parameters { get => field ?? []; init; }

    /// <summary>What a string says.</summary>
    public string Unquoted => Text[1..^1].Replace("\\\"", "\"", StringComparison.Ordinal).Replace("\\\\", "\\", StringComparison.Ordinal);

    public bool IsFalse => Type == StructuredType.Boolean && Text == "?0";
}

/// <summary>What a member of a structured field is (RFC 8941 3).</summary>
internal enum StructuredType
{
    Boolean,
    Integer,
    Decimal,
    String,
    Token,
    Bytes,
    InnerList,
}
