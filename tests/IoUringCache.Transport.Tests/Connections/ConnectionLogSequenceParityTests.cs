using System.Net.Sockets;
using IoUringCache.Transport.Tests.Parity;
using IoUringCache.Transport.Tests.Support;
using Microsoft.AspNetCore.Connections;
using Microsoft.Extensions.Logging;

namespace IoUringCache.Transport.Tests.Connections;

/// <summary>Everything that is logged in the life of a connection: the same messages, in the same order, and no other.</summary>
public sealed class ConnectionLogSequenceParityTests
{
    /// <summary>What happens to a connection, and the ids that are logged for it.</summary>
    private static readonly Dictionary<string, (Func<ConnectionPair, Task> Life, int[] Ids)> s_lives = new()
    {
        ["client's FIN, then dispose"] = (
            async pair =>
            {
                pair.Client.Shutdown(SocketShutdown.Send);
                await pair.Input.TakeToEndAsync();
            },
            [6, 7]),
        ["dispose"] = (_ => Task.CompletedTask, [7]),
        ["output completed"] = (
            async pair =>
            {
                await pair.Output.CompleteAsync().InTime();
                await pair.Client.ReceiveToEndAsync();
            },
            [7]),
        ["abort"] = (pair => AbortAsync(pair, new ConnectionAbortedException("reason")), [8]),
        ["abort without a reason"] = (pair => AbortAsync(pair, null!), [7]),
        ["client's reset, then dispose"] = (
            async pair =>
            {
                pair.Client.Reset();
                await Assert.ThrowsAsync<ConnectionResetException>(() => pair.Input.ReadAsync().InTime());
            },
            [19, 7]),
        ["client's FIN, then abort"] = (
            async pair =>
            {
                pair.Client.Shutdown(SocketShutdown.Send);
                await pair.Input.TakeToEndAsync();
                pair.Server.Abort();
                await pair.Client.AssertResetAsync();
            },
            [6, 8]),
    };

    /// <summary>Each message in Kestrel's words, with {id} and {reason} for what varies.</summary>
    private static readonly Dictionary<int, (string Name, string Message)> s_messages = new()
    {
        [4] = ("ConnectionPause", "Connection id \"{id}\" paused."),
        [5] = ("ConnectionResume", "Connection id \"{id}\" resumed."),
        [6] = ("ConnectionReadFin", "Connection id \"{id}\" received FIN."),
        [7] = ("ConnectionWriteFin", "Connection id \"{id}\" sending FIN because: \"The {transport} transport's send loop completed gracefully.\""),
        [8] = ("ConnectionWriteRst", "Connection id \"{id}\" sending RST because: \"reason\""),
        [19] = ("ConnectionReset", "Connection id \"{id}\" reset."),
    };

    public static TheoryData<TransportKind, string> Lives => Transports.AllWith(s_lives.Keys);

    public static TheoryData<TransportKind, int> Ids => Transports.AllWith(s_messages.Keys);

    [Theory]
    [MemberData(nameof(Lives))]
    public async Task Log_OfWholeLife_HasTheseMessagesAndNoOther(TransportKind kind, string life)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind);
        await using (ConnectionPair pair = await server.ConnectAsync())
        {
            await s_lives[life].Life(pair);
            await pair.Server.DisposeAsync().InTime();
        }

        LogEntry[] logged = [.. server.Log.Entries.Where(entry => entry.Category == CategoryOf(kind) && entry.Level == LogLevel.Debug)];
        Assert.Equal(s_lives[life].Ids, logged.Select(entry => entry.Id.Id));
        Assert.DoesNotContain(server.Log.Entries, entry => entry.Level > LogLevel.Information);
    }

    [Theory]
    [MemberData(nameof(Ids))]
    [DeliberateDifference(
        "The category is IoUringCache.Transport, not Microsoft.AspNetCore.Server.Kestrel.Transport.Sockets; the reason of an orderly end "
        + "names \"The io_uring transport\", not \"The Socket transport\". Ids, names, levels and all other words are equal.")]
    public async Task Message_OfId_HasKestrelsNameLevelAndWords(TransportKind kind, int id)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind, options => options.MaxReadBufferSize = 16 * 1024);
        await using ConnectionPair pair = await server.ConnectAsync();
        await CauseAsync(id, server, pair);
        LogEntry entry = await server.Log.WaitForAsync(candidate => candidate.Category == CategoryOf(kind) && candidate.Id.Id == id);
        (string name, string message) = s_messages[id];
        Assert.Equal(name, entry.Id.Name);
        Assert.Equal(LogLevel.Debug, entry.Level);
        Assert.Equal(
            message.Replace("{id}", pair.Server.ConnectionId, StringComparison.Ordinal)
                .Replace("{transport}", kind == TransportKind.Sockets ? "Socket" : "io_uring", StringComparison.Ordinal),
            entry.Message);
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task Log_OfPauses_AlternatesPauseAndResume(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind, options => options.MaxReadBufferSize = 16 * 1024);
        await using ConnectionPair pair = await server.ConnectAsync();
        byte[] sent = Payload.Of(1024 * 1024);
        Task sending = pair.Client.SendAllAsync(sent);
        await server.Log.WaitForAsync(4);
        for (int at = 0; at < sent.Length; at += 64 * 1024)
        {
            await pair.Input.TakeAsync(64 * 1024);
        }

        await sending.InTime();
        int[] ids = [.. server.Log.Entries.Select(entry => entry.Id.Id).Where(id => id is 4 or 5)];
        Assert.NotEmpty(ids);
        Assert.All(ids.Index(), entry => Assert.Equal(entry.Index % 2 == 0 ? 4 : 5, entry.Item));
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task Log_AtInformation_SaysNothingAboutConnections(TransportKind kind)
    {
        await using TransportServer server = await TransportServer.StartAsync(kind, minimumLevel: LogLevel.Information);
        foreach ((Func<ConnectionPair, Task> life, _) in s_lives.Values)
        {
            await using ConnectionPair pair = await server.ConnectAsync();
            await life(pair);
            await pair.Server.DisposeAsync().InTime();
        }

        Assert.DoesNotContain(server.Log.Entries, entry => entry.Message.StartsWith("Connection id", StringComparison.Ordinal));
    }

    private static string CategoryOf(TransportKind kind) => kind == TransportKind.Sockets
        ? "Microsoft.AspNetCore.Server.Kestrel.Transport.Sockets"
        : "IoUringCache.Transport";

    private static async Task CauseAsync(int id, TransportServer server, ConnectionPair pair)
    {
        switch (id)
        {
            case 4:
            case 5:
                Task sending = pair.Client.SendAllAsync(new byte[200_000]);
                await server.Log.WaitForAsync(4);
                await pair.Input.TakeAsync(200_000);
                await sending.InTime();
                break;
            case 6:
                pair.Client.Shutdown(SocketShutdown.Send);
                break;
            case 7:
                await pair.Output.CompleteAsync().InTime();
                break;
            case 8:
                pair.Server.Abort(new ConnectionAbortedException("reason"));
                break;
            default:
                pair.Client.Reset();
                break;
        }
    }

    private static async Task AbortAsync(ConnectionPair pair, ConnectionAbortedException reason)
    {
        pair.Server.Abort(reason);
        await Assert.ThrowsAsync<ConnectionAbortedException>(() => pair.Input.ReadAsync().InTime());
    }
}
