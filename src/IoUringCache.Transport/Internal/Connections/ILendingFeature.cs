using System.IO.Pipelines;

namespace IoUringCache.Transport.Internal.Connections;

/// <summary>
/// A connection of this transport, for whoever wants to lend memory to it. Seen through everything that lies over the connection, TLS
/// and HTTP/2 included, so whether lending can work is another question (<see cref="LendingWriter"/>).
/// </summary>
internal interface ILendingFeature
{
    /// <summary>The connection's own pipe; who finds another one in its place has something in between.</summary>
    IDuplexPipe Pipe { get; }

    /// <summary>
    /// Puts memory into what a writer over the connection writes, without a copy. The writer's own thread.
    /// </summary>
    /// <param name="writer">A writer that hands calls through to the connection's own.</param>
    /// <param name="memory">1 to <see cref="Pipes.LendingOffer.MaxLength"/> bytes.</param>
    /// <returns>False if the writer did not hand the calls through; nothing was written then.</returns>
    bool TryLend(PipeWriter writer, ReadOnlyMemory<byte> memory);
}
