using System.Net.Sockets;
using IoUringCache.Transport.Internal.Loops;
using IoUringCache.Transport.Internal.Scheduling;
using IoUringCache.Transport.Tests.Support;
using Microsoft.AspNetCore.Connections;
using Microsoft.Extensions.Logging;

namespace IoUringCache.Transport.Tests.Fuzz;

/// <summary>Runs one case on a server of its own, and sees to it that buffers, segments and slots are given back.</summary>
internal static class CaseRun
{
    private const int MaxBytes = 256 * 1024;

    /// <summary>A listener's slot.</summary>
    private static readonly LoopUsage s_idle = new(1, 0, 0, 0);

    internal static async Task RunAsync(TransportKind kind, FuzzCase fuzzCase)
    {
        await using TransportServer server = await TransportServer.StartAsync(
            kind, FuzzLimits.Named(fuzzCase.Limits), minimumLevel: LogLevel.Information);
        EventLoopGroup? loops = kind == TransportKind.Sockets ? null : await EventLoopGroup.AcquireAsync(SettingsOf(kind, fuzzCase)).InTime();
        try
        {
            await RunAsync(server, fuzzCase.Scripts);
            if (loops is not null)
            {
                await Deadline.UntilAsync(() => loops.Usage == s_idle, () => $"Not given back: {loops.Usage}.");
            }
        }
        finally
        {
            if (loops is not null)
            {
                await loops.ReleaseAsync().InTime();
            }
        }
    }

    private static async Task RunAsync(TransportServer server, IReadOnlyList<Script> scripts)
    {
        List<Task> runs = [];
        for (int i = 0; i < scripts.Count; i++)
        {
            Socket client = await server.ConnectClientAsync(socket => socket.ReceiveBufferSize = 32 * 1024);
            ConnectionContext connection = (await server.AcceptAsync())!;
            ConnectionModel model = new(Payload.Of(MaxBytes, 2 * i), Payload.Of(MaxBytes, (2 * i) + 1));
            Script script = scripts[i];
            runs.Add(Task.Run(() => new ScriptRun(client, connection, model).RunAsync(script)));
        }

        await Task.WhenAll(runs);
    }

    private static EventLoopSettings SettingsOf(TransportKind kind, FuzzCase fuzzCase)
    {
        IoUringTransportOptions options = new()
        {
            ApplicationScheduling = Transports.SchedulingOf(kind),
        };
        FuzzLimits.Named(fuzzCase.Limits)(options);
        return EventLoopSettings.From(options);
    }
}
