namespace IoUringCache.TechEmpower;

/// <summary>What a request asks for.</summary>
internal enum Route
{
    /// <summary>Nothing that there is.</summary>
    Unknown,

    /// <summary><c>/plaintext</c>.</summary>
    Plaintext,

    /// <summary><c>/json</c>.</summary>
    Json,
}
