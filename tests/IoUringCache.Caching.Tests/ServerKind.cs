namespace IoUringCache.Caching.Tests;

/// <summary>What an application with a cache runs on.</summary>
public enum ServerKind
{
    /// <summary>Kestrel on io_uring, which a run with <c>IOURING_REQUIRED=1</c> insists on.</summary>
    IoUring,

    /// <summary>Kestrel on sockets.</summary>
    Sockets,

    /// <summary>No server at all: ASP.NET's TestServer.</summary>
    InMemory,
}
