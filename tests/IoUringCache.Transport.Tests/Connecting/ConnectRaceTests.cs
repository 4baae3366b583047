using System.Net;
using System.Net.Sockets;
using IoUringCache.Transport.Internal.Connecting;
using IoUringCache.Transport.Tests.Faults;
using IoUringCache.Transport.Tests.Support;
using Microsoft.AspNetCore.Connections;

namespace IoUringCache.Transport.Tests.Connecting;

/// <summary>Several addresses of one name (RFC 8305): who is tried, when, and what becomes of the losers.</summary>
public sealed class ConnectRaceTests
{
    private static readonly IPAddress[] s_both = [IPAddress.IPv6Loopback, IPAddress.Loopback];

    private static readonly string[] s_resolved = ["::1", "::2", "::3", "10.0.0.1", "10.0.0.2"];

    private static readonly string[] s_inTurns = ["[::1]:7", "10.0.0.1:7", "[::2]:7", "10.0.0.2:7", "[::3]:7"];

    public static TheoryData<TransportKind> All => Transports.All;

    [Theory]
    [MemberData(nameof(All))]
    public async Task Name_OneFamilyIsRefused_TheOtherConnectsAtOnce(TransportKind kind)
    {
        // Time stands still, so no delay ends.
        await using OutgoingPeer peer = OutgoingPeer.Start(kind, resolve: OutgoingPeer.Names(s_both), time: new ManualTime());
        await using ConnectionPair pair = await peer.ConnectAsync(new DnsEndPoint("both.test", peer.Port));

        await pair.AssertWorksAsync();
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Name_AllAreRefused_IsRefused(TransportKind kind)
    {
        await using OutgoingPeer peer = OutgoingPeer.Start(kind, resolve: OutgoingPeer.Names(s_both), time: new ManualTime());
        int port = peer.Port;
        peer.StopListening();

        SocketException failure = await Assert.ThrowsAsync<SocketException>(() => peer.ConnectOnlyAsync(new DnsEndPoint("both.test", port)));

        Assert.Equal(SocketError.ConnectionRefused, failure.SocketErrorCode);
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Name_FirstAddressDoesNotAnswer_TheNextIsTriedAfterTheDelay(TransportKind kind)
    {
        ManualTime time = new();
        IPAddress silent = IPAddress.Parse("127.0.0.2");
        await using OutgoingPeer peer = OutgoingPeer.Start(kind, resolve: OutgoingPeer.Names(silent, IPAddress.Loopback), time: time);
        using Socket silentListener = new(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        silentListener.Bind(new IPEndPoint(silent, peer.Port));
        silentListener.Listen(0);
        using Socket queued = new(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        await queued.ConnectAsync(silentListener.LocalEndPoint!).InTime();

        Task<ConnectionPair> connecting = peer.ConnectAsync(new DnsEndPoint("slow.test", peer.Port));
        await Deadline.UntilAsync(() => time.TimerCount == 1, () => $"{time.TimerCount} delays were begun.");
        Assert.False(connecting.IsCompleted);
        time.PassPeriod();

        await using ConnectionPair pair = await connecting.InTime();
        Assert.Equal(new IPEndPoint(IPAddress.Loopback, peer.Port), pair.Server.RemoteEndPoint);
        await pair.AssertWorksAsync();
    }

    [Fact]
    public void Addresses_OfTwoFamilies_TakeTurns()
    {
        IPAddress[] resolved = [.. s_resolved.Select(IPAddress.Parse)];

        Assert.Equal(s_inTurns, AddressResolver.Interleave(resolved, 7).Select(address => address.ToString()));
    }

    [Fact]
    public async Task Race_SecondWins_TheFirstIsCancelledAndClosed()
    {
        ManualTime time = new();
        TaskCompletionSource<ConnectionContext> slow = new();
        CancellationToken slowToken = default;
        ClosingConnection late = new();
        ClosingConnection quick = new();
        Task<ConnectionContext> race = ConnectRace.RunAsync(
            Addresses(2), (address, token) => ((IPEndPoint)address).Port == 0 ? Slow(token) : Task.FromResult<ConnectionContext>(quick), time, default);
        time.PassPeriod();

        Assert.Same(quick, await race.InTime());
        Assert.True(slowToken.IsCancellationRequested);

        // It had connected when the cancellation came.
        slow.SetResult(late);
        await late.Disposed.InTime();
        Assert.False(quick.Disposed.IsCompleted);

        Task<ConnectionContext> Slow(CancellationToken token)
        {
            slowToken = token;
            return slow.Task;
        }
    }

    [Fact]
    public async Task Race_EachFails_StartsTheNextAtOnceAndThrowsTheLastFailure()
    {
        int attempts = 0;
        Task<ConnectionContext> race = ConnectRace.RunAsync(
            Addresses(5), (_, _) => Task.FromException<ConnectionContext>(new IOException($"{++attempts}")), new ManualTime(), default);

        Assert.Equal("5", (await Assert.ThrowsAsync<IOException>(() => race.InTime())).Message);
    }

    [Fact]
    public async Task Race_Cancelled_CancelsEveryAttempt()
    {
        ManualTime time = new();
        using CancellationTokenSource source = new();
        List<CancellationToken> tokens = [];
        Task<ConnectionContext> race = ConnectRace.RunAsync(Addresses(3), ConnectAsync, time, source.Token);
        time.PassPeriod();
        await Deadline.UntilAsync(() => tokens.Count == 2, () => $"{tokens.Count} attempts were begun.");

        await source.CancelAsync();

        OperationCanceledException cancelled = await Assert.ThrowsAnyAsync<OperationCanceledException>(() => race.InTime());
        Assert.Equal(source.Token, cancelled.CancellationToken);
        Assert.All(tokens, token => Assert.True(token.IsCancellationRequested));

        async Task<ConnectionContext> ConnectAsync(EndPoint address, CancellationToken token)
        {
            tokens.Add(token);
            await new TaskCompletionSource().Task.WaitAsync(token);
            throw new InvalidOperationException("It waits for its cancellation.");
        }
    }

    private static IPEndPoint[] Addresses(int count) => [.. Enumerable.Range(0, count).Select(port => new IPEndPoint(IPAddress.Loopback, port))];

    private sealed class ClosingConnection : DefaultConnectionContext
    {
        private readonly TaskCompletionSource _disposed = new();

        internal Task Disposed => _disposed.Task;

        public override ValueTask DisposeAsync()
        {
            _disposed.TrySetResult();
            return base.DisposeAsync();
        }
    }
}
