using System.Net.Sockets;
using IoUringCache.Transport.Internal.Loops;
using IoUringCache.Transport.Internal.Scheduling;
using Microsoft.AspNetCore.Connections;

namespace IoUringCache.Transport.Tests.Support;

/// <summary>A server with a limit on the busy connections of its loops, and connections that the test keeps busy.</summary>
internal sealed class BusyServer : IAsyncDisposable
{
    private readonly List<BusyConnection> _busy = [];
    private EventLoopGroup? _loops;

    private BusyServer(TransportServer transport, EventLoopGroup loops)
    {
        Transport = transport;
        _loops = loops;
    }

    internal TransportServer Transport { get; }

    /// <summary>In the order in which they were accepted.</summary>
    internal IReadOnlyList<BusyConnection> Busy => _busy;

    /// <summary>As the loops count it.</summary>
    internal int BusyCount => _loops!.Usage.BusyCount;

    internal static async Task<BusyServer> StartAsync(TransportKind kind, int loops, int limit, int backlog = 512)
    {
        IoUringTransportOptions options = new();
        Configure(options);
        options.ApplicationScheduling = Transports.SchedulingOf(kind);
        TransportServer transport = await TransportServer.StartAsync(kind, Configure);
        return new BusyServer(transport, await EventLoopGroup.AcquireAsync(EventLoopSettings.From(options)).InTime());

        void Configure(IoUringTransportOptions options) =>
            (options.LoopCount, options.MaxBusyConnectionsPerLoop, options.Backlog) = (loops, limit, backlog);
    }

    internal void Add(Socket client, ConnectionContext server) => _busy.Add(new BusyConnection(client, server));

    /// <summary>Has clients connect, each of which sends a byte that nobody takes; ends when the loops have seen them all.</summary>
    internal async Task ConnectBusyAsync(int count)
    {
        int before = BusyCount;
        List<ConnectionPair> pairs = [];
        for (int i = 0; i < count; i++)
        {
            pairs.Add(await Transport.ConnectAsync());
        }

        foreach (ConnectionPair pair in pairs)
        {
            await pair.Client.SendAllAsync("a"u8.ToArray());
            Add(pair.Client, pair.Server);
        }

        await UntilBusyAsync(before + count);
    }

    internal async Task FinishAsync(int count)
    {
        foreach (BusyConnection connection in _busy.Take(count).ToArray())
        {
            await FinishAsync(connection);
        }
    }

    internal async Task FinishAsync(BusyConnection connection)
    {
        _busy.Remove(connection);
        connection.Server.Abort();
        await connection.Server.DisposeAsync().InTime();
        connection.Client.Dispose();
    }

    internal Task UntilBusyAsync(int count) => Deadline.UntilAsync(() => BusyCount == count, () => $"{BusyCount} are busy, and not {count}.");

    /// <summary>A client that comes now is accepted.</summary>
    internal async Task AssertAcceptsAsync()
    {
        await using ConnectionPair pair = await Transport.ConnectAsync();
    }

    /// <summary>
    /// A client that comes now is not accepted for a while. It resets its connection when it goes, so nobody is given that later; and as the
    /// loops may have no room before the listener has heard of it, the first one may still be accepted.
    /// </summary>
    internal async Task AssertPausedAsync()
    {
        await Deadline.UntilAsync(() => !_loops!.HasCapacity, () => "A loop has capacity.");
        if (!await WaitsAsync())
        {
            Assert.True(await WaitsAsync(), "A client was accepted.");
        }
    }

    private async Task<bool> WaitsAsync()
    {
        using CancellationTokenSource enough = new();
        Task<ConnectionContext?> accepting = Transport.Listener.AcceptAsync(enough.Token).AsTask();
        using Socket client = await Transport.ConnectClientAsync();
        using PeriodicTimer timer = new(Deadline.Pause);
        await Task.WhenAny(accepting, timer.WaitForNextTickAsync().AsTask()).InTime();
        client.Reset();
        await enough.CancelAsync().InTime();
        try
        {
            ConnectionContext? accepted = await accepting.InTime();
            await accepted!.DisposeAsync().InTime();
            return false;
        }
        catch (OperationCanceledException)
        {
            return true;
        }
    }

    /// <summary>The last listener goes, and with it the loops.</summary>
    internal async Task EndLoopsAsync()
    {
        EventLoopGroup loops = _loops!;
        _loops = null;
        Task released = loops.ReleaseAsync();
        await Transport.DisposeAsync();
        await released.InTime();
    }

    public async ValueTask DisposeAsync()
    {
        await FinishAsync(_busy.Count);
        if (_loops is not null)
        {
            await EndLoopsAsync();
        }
    }
}
