namespace IoUringCache.Caching.Http;

/// <summary>
/// Names of query parameters or of cookies, with their case; <c>*</c> at the end of one stands for whatever follows. Immutable; any thread; equal to
/// another with the same names.
/// </summary>
internal sealed class NameList : IEquatable<NameList>
{
    public static readonly NameList Empty = new([]);

    private readonly HashSet<string>.AlternateLookup<ReadOnlySpan<char>> _whole;
    private readonly string[] _beginnings;
    private readonly string _text;

    /// <param name="names">Each as <see cref="IsName"/> wants it.</param>
    public NameList(IEnumerable<string> names)
    {
        string[] all = [.. names.Distinct().Order(StringComparer.Ordinal)];
        _whole = all.Where(static name => !name.EndsWith('*')).ToHashSet(StringComparer.Ordinal).GetAlternateLookup<ReadOnlySpan<char>>();
        _beginnings = [.. all.Where(static name => name.EndsWith('*')).Select(static name => name[..^1])];
        _text = string.Join(',', all);
    }

    /// <summary>These and others.</summary>
    public NameList With(IEnumerable<string> names) => new(_text.Split(',', StringSplitOptions.RemoveEmptyEntries).Concat(names));

    public bool IsEmpty => _text.Length == 0;

    /// <summary>Whether a text can stand in a list: visible characters of ASCII without what separates names and values, and a star only at the end.</summary>
    public static bool IsName(string text) =>
        text.Length > 0
        && text.IndexOf('*') is var star && (star < 0 || star == text.Length - 1)
        && text.All(static character => char.IsBetween(character, '!', '~') && character is not ('=' or '&' or ';' or ',' or '?' or '#'));

    public bool Contains(ReadOnlySpan<char> name)
    {
        if (_whole.Contains(name))
        {
            return true;
        }

        foreach (string beginning in _beginnings)
        {
            if (name.StartsWith(beginning, StringComparison.Ordinal))
            {
                return true;
            }
        }

        return false;
    }

    public bool Equals(NameList? other) => other is not null && _text == other._text;

    public override bool Equals(object? obj) => Equals(obj as NameList);

    public override int GetHashCode() => _text.GetHashCode(StringComparison.Ordinal);

    /// <summary>With commas between.</summary>
    public override string ToString() => _text;
}
