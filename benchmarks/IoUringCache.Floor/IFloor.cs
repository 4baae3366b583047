using System.Net;

namespace IoUringCache.Floor;

/// <summary>A server that does no more than it must. The thread that makes it runs it.</summary>
internal interface IFloor : IDisposable
{
    IPEndPoint EndPoint { get; }

    /// <summary>The ring's set-up in words.</summary>
    string Description { get; }

    /// <summary>Serves until <see cref="Stop"/>.</summary>
    void Run();

    /// <summary>Has <see cref="Run"/> return soon. Any thread.</summary>
    void Stop();
}
