using System.IO.Pipelines;
using System.Net.Sockets;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Connections.Features;
using Microsoft.AspNetCore.Http.Features;

namespace IoUringCache.Caching.Http1;

/// <summary>
/// A socket of the system as a connection. Nothing is received but by reads, so what came before a reset is read before it, and the end of an
/// idle connection is seen by a look into the kernel. Used and owned by one.
/// </summary>
internal sealed class SocketConnection : ConnectionContext, IConnectionSocketFeature, IDuplexPipe
{
    /// <summary>As much as a relay passes on at a time. A read by less would cost a call, and a flush, for each 4 KiB of a body.</summary>
    private const int ReadBytes = 64 * 1024;

    private readonly NetworkStream _stream;

    /// <param name="socket">Connected; disposed of with this.</param>
    public SocketConnection(Socket socket)
    {
        (Socket, _stream) = (socket, new(socket, ownsSocket: true));
        (Input, Output) = (PipeReader.Create(_stream, new(bufferSize: ReadBytes, leaveOpen: true)), PipeWriter.Create(_stream, new(leaveOpen: true)));
        Transport = this;
        Features.Set<IConnectionSocketFeature>(this);
    }

    public Socket Socket { get; }

    public PipeReader Input { get; }

    public PipeWriter Output { get; }

    public override string ConnectionId { get; set; } = "";

    public override IFeatureCollection Features { get; } = new FeatureCollection();

    public override IDictionary<object, object?> Items { get; set; } = new ConnectionItems();

    public override IDuplexPipe Transport { get; set; }

    /// <summary>Resets the connection; a read or a flush that waits fails.</summary>
    public override void Abort(ConnectionAbortedException abortReason)
    {
        Socket.LingerState = new(enable: true, seconds: 0);
        _stream.Dispose();
    }

    /// <summary>Gives the buffers back, and closes the socket with FIN, unless it was aborted.</summary>
    public override async ValueTask DisposeAsync()
    {
        await Input.CompleteAsync();
        try
        {
            await Output.CompleteAsync();
        }
        finally
        {
            await _stream.DisposeAsync();
        }
    }
}
