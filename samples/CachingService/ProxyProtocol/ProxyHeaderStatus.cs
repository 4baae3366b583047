namespace CachingService.ProxyProtocol;

/// <summary>What the first bytes of a connection are.</summary>
internal enum ProxyHeaderStatus
{
    /// <summary>The start of a header, as far as it has come.</summary>
    Incomplete,

    Complete,

    /// <summary>No header, or a wrong one. The connection must be closed: its client is not known.</summary>
    Malformed,
}
