using System.Buffers;
using Microsoft.Extensions.Primitives;

namespace IoUringCache.Caching.Http;

/// <summary>What values of fields are made of (RFC 9110 5.5). Any thread.</summary>
internal static class FieldText
{
    private static readonly SearchValues<char> s_controls =
        SearchValues.Create([.. Enumerable.Range(0, 0x20).Append(0x7f).Where(code => code != '\t').Select(code => (char)code)]);

    /// <summary>Whether a value holds a control character other than a tab, which recipients may refuse or read differently.</summary>
    public static bool HoldsControl(StringValues values)
    {
        foreach (string? value in values)
        {
            if (value.AsSpan().ContainsAny(s_controls))
            {
                return true;
            }
        }

        return false;
    }

    /// <summary>Whether any value of a request does.</summary>
    public static bool HoldControl(IHeaderDictionary request)
    {
        foreach ((_, StringValues values) in request)
        {
            if (HoldsControl(values))
            {
                return true;
            }
        }

        return false;
    }
}
