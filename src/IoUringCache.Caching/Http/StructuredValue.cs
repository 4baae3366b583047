namespace IoUringCache.Caching.Http;

/// <summary>A member of a structured field, its parameters taken off. Immutable; any thread.</summary>
/// <param name="Type">What it is.</param>
/// <param name="Text">As it came, quotes and signs included; <c>?1</c> where the member is its key alone.</param>
internal readonly record struct StructuredValue(StructuredType Type, string Text)
{
    /// <summary>What a string says.</summary>
    public string Unquoted => Text[1..^1].Replace("\\\"", "\"", StringComparison.Ordinal).Replace("\\\\", "\\", StringComparison.Ordinal);

    public bool IsFalse => Type == StructuredType.Boolean && Text == "?0";
}
