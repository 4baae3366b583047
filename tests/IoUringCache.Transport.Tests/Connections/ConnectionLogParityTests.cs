using System.Net.Sockets;
using IoUringCache.Transport.Tests.Parity;
using IoUringCache.Transport.Tests.Support;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Connections.Features;
using Microsoft.Extensions.Logging;

namespace IoUringCache.Transport.Tests.Connections;

/// <summary>The messages of a connection have the ids and levels of Kestrel's Sockets transport.</summary>
public sealed class ConnectionLogParityTests
{
    private static readonly Dictionary<string, Action<ConnectionContext>> s_aborts = new()
    {
        ["ConnectionContext.Abort()"] = connection => connection.Abort(),
        ["IConnectionLifetimeFeature.Abort()"] = connection => connection.Features.Get<IConnectionLifetimeFeature>()!.Abort(),
    };

    public static TheoryData<TransportKind> All => Transports.All;

    public static TheoryData<TransportKind> IoUring => Transports.IoUring;

    public static TheoryData<TransportKind, string> Aborts => Transports.AllWith(s_aborts.Keys);

    [Theory]
    [MemberData(nameof(All))]
    public async Task Fin_OfClientAndServer_IsLogged(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();
        pair.Client.Shutdown(SocketShutdown.Send);
        await AssertLoggedAsync(server, pair, 6, "ConnectionReadFin");
        await pair.Server.DisposeAsync().InTime();
        LogEntry entry = await AssertLoggedAsync(server, pair, 7, "ConnectionWriteFin");
        Assert.Contains("gracefully", entry.Message, StringComparison.Ordinal);
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Abort_OfServer_IsLoggedWithReason(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();
        pair.Server.Abort(new ConnectionAbortedException("because of the test"));
        LogEntry entry = await AssertLoggedAsync(server, pair, 8, "ConnectionWriteRst");
        Assert.Contains("because of the test", entry.Message, StringComparison.Ordinal);
    }

    [Theory]
    [MemberData(nameof(Aborts))]
    public async Task Abort_WithoutAReason_IsNamedInTheLogAndInTheError(TransportKind kind, string member)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();
        s_aborts[member](pair.Server);
        LogEntry entry = await AssertLoggedAsync(server, pair, 8, "ConnectionWriteRst");
        Assert.Contains($"via {member}", entry.Message, StringComparison.Ordinal);
        ConnectionAbortedException error = await Assert.ThrowsAsync<ConnectionAbortedException>(() => pair.Input.ReadAsync().InTime());
        Assert.Contains($"via {member}", error.Message, StringComparison.Ordinal);
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Reset_OfClient_IsLoggedOnce(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using ConnectionPair pair = await server.ConnectAsync();
        pair.Client.Reset();
        await Assert.ThrowsAsync<ConnectionResetException>(() => pair.Input.ReadAsync().InTime());
        await AssertLoggedAsync(server, pair, 19, "ConnectionReset");
        await pair.Server.DisposeAsync().InTime();
        Assert.Single(server.Log.Entries, entry => entry.Id.Id == 19);
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task ConnectionId_WithDebugOff_IsNeverMade(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind, minimumLevel: LogLevel.Information);
        await using (ConnectionPair before = await server.ConnectAsync())
        {
            string first = before.Server.ConnectionId;
            for (int i = 0; i < 5; i++)
            {
                await using ConnectionPair silent = await server.ConnectAsync();
                silent.Client.Shutdown(SocketShutdown.Send);
                await silent.Input.TakeToEndAsync();
                await silent.Server.DisposeAsync().InTime();
            }

            // Ids count up: the next one follows at once.
            await using ConnectionPair after = await server.ConnectAsync();
            Assert.Equal(1, NumberOf(after.Server.ConnectionId) - NumberOf(first));
        }

        // 13 digits of five bits; the highest bit, which is lost here, is always 0.
        static long NumberOf(string id) => id.Aggregate(
            0L, static (number, digit) => (32 * number) + "0123456789ABCDEFGHIJKLMNOPQRSTUV".IndexOf(digit, StringComparison.Ordinal));
    }

    [Theory]
    [MemberData(nameof(IoUring))]
    [DeliberateDifference("The exception of a log provider that throws is dropped; on sockets it comes out of whatever logged, Abort among it.")]
    public async Task Log_Fails_ConnectionsGoOn(TransportKind kind)
    {
        using ThrowingLog log = new();
        await using TransportServer server = await TransportServer.StartAsync(
            kind, options => options.MaxReadBufferSize = 16 * 1024, logs: log);
        for (int i = 0; i < 3; i++)
        {
            // Pause, resume, end and reset are all logged.
            await using ConnectionPair pair = await server.ConnectAsync();
            byte[] sent = Payload.Of(200_000);
            Task sending = pair.Client.SendAllAsync(sent);
            Payload.AssertEqual(sent, await pair.Input.TakeAsync(sent.Length));
            await sending.InTime();
            pair.Client.Reset();
            await Assert.ThrowsAsync<ConnectionResetException>(() => pair.Input.ReadAsync().InTime());
        }

        Assert.NotEqual(0, log.Failures);
    }

    private static async Task<LogEntry> AssertLoggedAsync(TransportServer server, ConnectionPair pair, int id, string name)
    {
        LogEntry entry = await server.Log.WaitForAsync(id);
        Assert.Equal(name, entry.Id.Name);
        Assert.Equal(LogLevel.Debug, entry.Level);
        Assert.Contains(pair.Server.ConnectionId, entry.Message, StringComparison.Ordinal);
        return entry;
    }
}
