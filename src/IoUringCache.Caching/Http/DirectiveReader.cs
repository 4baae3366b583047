namespace IoUringCache.Caching.Http;

/// <summary>
/// Cuts one line of <c>Cache-Control</c> into directives (RFC 9111 5.2). Commas inside quotes do not separate. A quote that is never
/// closed quotes nothing: a directive that forbids something must not disappear in it. Used by one caller at a time.
/// </summary>
internal ref struct DirectiveReader(ReadOnlySpan<char> line)
{
    private ReadOnlySpan<char> _rest = line;
    private bool _quotesAreOver;

    /// <summary>The whole directive that was read last, trimmed.</summary>
    public ReadOnlySpan<char> Directive { get; private set; }

    /// <summary>The next directive; false at the end. Empty members of the list are skipped.</summary>
    /// <param name="name">Trimmed; no token where the directive is malformed, and empty where nothing stands before its equals sign.</param>
    /// <param name="argument">Trimmed, quotes and all; empty where there is none.</param>
    /// <param name="hasArgument">True where an equals sign stands behind the name.</param>
    public bool TryRead(out ReadOnlySpan<char> name, out ReadOnlySpan<char> argument, out bool hasArgument)
    {
        do
        {
            Directive = Take().Trim();
        }
        while (Directive.IsEmpty && !_rest.IsEmpty);

        int separator = Directive.IndexOf('=');
        hasArgument = separator >= 0;
        name = hasArgument ? Directive[..separator].TrimEnd() : Directive;
        argument = hasArgument ? Directive[(separator + 1)..].TrimStart() : default;
        return !Directive.IsEmpty;
    }

    private ReadOnlySpan<char> Take()
    {
        int end = 0;
        while (end < _rest.Length && _rest[end] != ',')
        {
            int length = _rest[end] == '"' && !_quotesAreOver ? QuotedText.LengthOf(_rest[end..]) : 1;
            _quotesAreOver |= _rest[end] == '"' && length == 1;
            end += length;
        }

        ReadOnlySpan<char> directive = _rest[..end];
        _rest = end < _rest.Length ? _rest[(end + 1)..] : default;
        return directive;
    }
}
