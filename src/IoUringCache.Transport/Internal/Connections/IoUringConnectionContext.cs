using System.Buffers;
using System.IO.Pipelines;
using System.Net;
using System.Net.Sockets;
using IoUringCache.Transport.ZeroCopy;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Connections.Features;
using Microsoft.AspNetCore.Http.Features;

namespace IoUringCache.Transport.Internal.Connections;

/// <summary>
/// A connection as Kestrel and middleware see it. An accepted one is owned by the listener until Kestrel takes it, then
/// by Kestrel; an outgoing one by the code that asked for it.
/// </summary>
internal sealed class IoUringConnectionContext(
    IoUringConnection connection,
    ConnectionLifetime lifetime,
    MemoryPool<byte> memoryPool,
    EndPoint? localEndPoint,
    EndPoint? remoteEndPoint) :
    ConnectionContext,
    IConnectionIdFeature,
    IConnectionTransportFeature,
    IConnectionItemsFeature,
    IConnectionLifetimeFeature,
    IConnectionEndPointFeature,
    IConnectionSocketFeature,
    IMemoryPoolFeature,
    IZeroCopyFeature,
    IDirectReceiveFeature
{
    private ConnectionFeatures? _features;
    private IDictionary<object, object?>? _items;

    /// <inheritdoc cref="IoUringConnection.HasEndToCome"/>
    internal bool HasEndToCome => connection.HasEndToCome;

    public override string ConnectionId
    {
        get => lifetime.ConnectionId;
        set => lifetime.ConnectionId = value;
    }

    public override IFeatureCollection Features => _features ??= new ConnectionFeatures(this, connection.Scheduler);

    public override IDictionary<object, object?> Items
    {
        get => _items ??= new Dictionary<object, object?>();
        set => _items = value;
    }

    /// <summary>Middleware such as TLS may replace it; the connection keeps the original.</summary>
    public override IDuplexPipe Transport { get; set; } = connection;

    public override CancellationToken ConnectionClosed { get; set; } = lifetime.ConnectionClosed;

    public override EndPoint? LocalEndPoint { get; set; } = localEndPoint;

    public override EndPoint? RemoteEndPoint { get; set; } = remoteEndPoint;

    public Socket Socket => connection.SocketView;

    public MemoryPool<byte> MemoryPool => memoryPool;

    IDuplexPipe IZeroCopyFeature.Pipe => connection;

    bool IZeroCopyFeature.IsPaced => connection.IsPaced;

    long IZeroCopyFeature.UnsentBytes => connection.Writer.UnsentBytes;

    bool IZeroCopyFeature.HasSkippedWait => connection.Writer.HasSkippedWait;

    void IZeroCopyFeature.Offer(in ZeroCopySource source) => connection.Writer.Offer(source);

    bool IZeroCopyFeature.TryFlush(in ZeroCopySource source, out FlushResult result, out bool mustWait) =>
        connection.Writer.TryFlush(source, out result, out mustWait);

    void IZeroCopyFeature.WithdrawOffer() => connection.Writer.WithdrawOffer();

    void IZeroCopyFeature.SkipWait(bool value) => connection.Writer.SkipWait(value);

    bool IZeroCopyFeature.TryBeginWait(CancellationToken cancellationToken, out ValueTask<bool> wait)
    {
        wait = default;
        return connection.Writer.GetSpaceWait(Features)?.TryBegin(cancellationToken, out wait) == true;
    }

    void IZeroCopyFeature.EndWait() => connection.Writer.GetSpaceWait(Features)!.End();

    ValueTask<ReadResult> IDirectReceiveFeature.ReadAsync(Memory<byte> memory, long expected) =>
        connection.Reader.ReadAsync(ReceiveTarget.Of(memory), expected);

    ValueTask<ReadResult> IDirectReceiveFeature.ReadAsync(SplicePipe pipe, long expected) =>
        connection.Reader.ReadAsync(ReceiveTarget.Of(pipe), expected);

    public override void Abort(ConnectionAbortedException abortReason) => connection.Abort(abortReason);

    /// <summary>Tells this abort from the other one in the log.</summary>
    void IConnectionLifetimeFeature.Abort() => Abort(
        new ConnectionAbortedException("The connection was aborted by the application via IConnectionLifetimeFeature.Abort()."));

    /// <summary>Completes both directions, then waits for the close and for <see cref="ConnectionClosed"/>.</summary>
    public override async ValueTask DisposeAsync()
    {
        await connection.Input.CompleteAsync();
        await connection.Output.CompleteAsync();
        await lifetime.Ended;
        lifetime.Dispose();
    }
}
