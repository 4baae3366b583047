using System.Globalization;
using Microsoft.Extensions.Primitives;

namespace IoUringCache.Caching.Http;

/// <summary>Reads <c>Range</c> and decides which bytes it asks for (RFC 9110 14.1, 14.2, 17.15). Any thread.</summary>
internal static class RangeField
{
    /// <summary>More than these are no honest request: each costs an answer its own head.</summary>
    public const int MaxRanges = 16;

    private const string Unit = "bytes=";

    /// <summary>The ranges of the field; <see langword="null"/> where it is to be ignored: other units, bad syntax, too many.</summary>
    public static RangeSpec[]? Parse(StringValues lines)
    {
        // Not a list field: a second line has no meaning.
        if (lines.Count != 1 || lines[0] is not { } text || !text.StartsWith(Unit, StringComparison.OrdinalIgnoreCase))
        {
            return null;
        }

        List<RangeSpec> specs = new();
        foreach (string member in text[Unit.Length..].Split(',', StringSplitOptions.RemoveEmptyEntries))
        {
            ReadOnlySpan<char> trimmed = member.AsSpan().Trim(" \t");
            if (trimmed.IsEmpty)
            {
                continue;
            }

            if (specs.Count == MaxRanges || ParseMember(trimmed) is not { } spec)
            {
                return null;
            }

            specs.Add(spec);
        }

        return specs.Count == 0 ? null : [.. specs];
    }

    /// <summary>
    /// The bytes to send of a body of this length, those that overlap or are adjacent as one, in the order in which they were asked for.
    /// Empty: none of the ranges can be satisfied. <see langword="null"/>: all of the body instead, because the ranges together ask for
    /// more than there is, or for the end of what is empty.
    /// </summary>
    public static ByteRange[]? Select(IReadOnlyList<RangeSpec> specs, long length)
    {
        List<ByteRange> selected = new(specs.Count);
        long left = length;
        foreach (RangeSpec spec in specs)
        {
            if (spec.Within(length) is { } range)
            {
                left -= range.Length;
                Add(selected, range);
            }
            else if (length == 0 && spec is { First: null, Last: > 0 })
            {
                // Satisfiable by RFC 9110 14.1.2, and not to be named by any Content-Range.
                return null;
            }

            if (left < 0)
            {
                return null;
            }
        }

        return [.. selected];
    }

    /// <summary>Those that it touches do not touch each other, so one look at each is enough. It takes the place of the first of them.</summary>
    private static void Add(List<ByteRange> selected, ByteRange added)
    {
        int place = selected.Count;
        for (int index = selected.Count - 1; index >= 0; index--)
        {
            if (selected[index].Touches(added))
            {
                added = added.MergedWith(selected[index]);
                selected.RemoveAt(index);
                place = index;
            }
        }

        selected.Insert(Math.Min(place, selected.Count), added);
    }

    private static RangeSpec? ParseMember(ReadOnlySpan<char> text)
    {
        int dash = text.IndexOf('-');
        if (dash < 0)
        {
            return null;
        }

        // What does not fit lies beyond every body.
        long? first = DigitText.Parse(text[..dash]);
        long? last = DigitText.Parse(text[(dash + 1)..]);
        bool isSound = (first is not null || dash == 0) && (last is not null || dash == text.Length - 1)
            && (first ?? last) is not null && !(last < first);
        return isSound ? new(first, last) : null;
    }
}

/// <summary>
/// One member of a <c>Range</c> field (RFC 9110 14.1.2), before anybody knows the length: <c>a-b</c>, <c>a-</c>, or, without a first
/// position, <c>-n</c>, the last n bytes. Immutable.
/// </summary>
/// <param name="Last">Last position, or the number of last bytes.</param>
internal readonly record struct RangeSpec(long? First, long? Last)
{
    /// <summary>What it means for a body of this length; <see langword="null"/> if it names none of its bytes.</summary>
    public ByteRange? Within(long length) => this switch
    {
        { First: { } first } => first < length ? new(first, Math.Min(Last ?? long.MaxValue, length - 1)) : null,
        { Last: { } count } => count > 0 && length > 0 ? new(length - Math.Min(count, length), length - 1) : null,
        _ => null,
    };
}

/// <summary>Bytes of a body, both ends included, counted from 0. Immutable.</summary>
internal readonly record struct ByteRange(long First, long Last)
{
    public long Length => Last - First + 1;

    /// <summary>Whether the two have a byte in common, or none between them.</summary>
    public bool Touches(ByteRange other) => First <= other.Last + 1 && other.First <= Last + 1;

    /// <summary>One range for two that touch.</summary>
    public ByteRange MergedWith(ByteRange other) => new(Math.Min(First, other.First), Math.Max(Last, other.Last));

    /// <summary>Value of <c>Content-Range</c> (RFC 9110 14.4).</summary>
    /// <param name="completeLength">Length of the whole body; <see langword="null"/> where nobody knows it yet.</param>
    public string ToContentRange(long? completeLength) => string.Create(
        CultureInfo.InvariantCulture, $"bytes {First}-{Last}/{completeLength?.ToString(CultureInfo.InvariantCulture) ?? "*"}");
}
