namespace CachingService.Http;

/// <summary>
/// Cuts one line of <c>Cache-Control</c> into directives (RFC 9111 5.2). Commas inside quotes do not separate. A quote that is never
/// closed quotes nothing: a directive that forbids something must not disappear in it. Used by one caller at a time.
/// </summary>
internal ref struct DirectiveReader(ReadOnlySpan<char> line)
{
    private ReadOnlySpan<char> _rest = line;
    private bool _quotesAreOver;

    /// <summary>The next directive; false at the end. Empty members of the list are skipped.</summary>
    /// <param name="name">Trimmed.</param>
    /// <param name="argument">Trimmed, quotes and all; empty where there is none.</param>
    /// <param name="hasArgument">True where an equals sign stands behind the name.</param>
    public bool TryRead(out ReadOnlySpan<char> name, out ReadOnlySpan<char> argument, out bool hasArgument)
    {
        while (!_rest.IsEmpty)
        {
            ReadOnlySpan<char> directive = Take().Trim();
            int separator = directive.IndexOf('=');
            hasArgument = separator >= 0;
            name = hasArgument ? directive[..separator].TrimEnd() : directive;
            argument = hasArgument ? directive[(separator + 1)..].TrimStart() : default;
            if (!name.IsEmpty)
            {
                return true;
            }
        }

        name = argument = default;
        hasArgument = false;
        return false;
    }

    private ReadOnlySpan<char> Take()
    {
        int end = 0;
        while (end < _rest.Length && _rest[end] != ',')
        {
            end += _rest[end] == '"' && !_quotesAreOver ? LengthOfQuoted(_rest[end..]) : 1;
        }

        ReadOnlySpan<char> directive = _rest[..end];
        _rest = end < _rest.Length ? _rest[(end + 1)..] : default;
        return directive;
    }

    /// <summary>With both quotes; 1 where the second one is missing.</summary>
    private int LengthOfQuoted(ReadOnlySpan<char> text)
    {
        for (int index = 1; index < text.Length; index++)
        {
            switch (text[index])
            {
                case '"':
                    return index + 1;
                case '\\':
                    index++;
                    break;
            }
        }

        _quotesAreOver = true;
        return 1;
    }
}
