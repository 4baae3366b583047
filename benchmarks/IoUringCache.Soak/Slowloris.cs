using System.Diagnostics;

namespace IoUringCache.Soak;

/// <summary>
/// Clients that send, byte by byte, what never becomes a line, beside one that is served. What the server holds for them is bounded by
/// their number and not by their packets.
/// </summary>
internal static class Slowloris
{
    private const int Clients = 2000;
    private const int BytesEach = 200;

    /// <summary>The objects of a connection, and what its bytes lie in.</summary>
    private const long MemoryForEach = 16 * 1024;

    internal static async Task<string> RunAsync(Scenario scenario)
    {
        Stopwatch clock = Stopwatch.StartNew();
        ServerReport before = await scenario.Server.ReportAsync();
        List<SoakClient> clients = [];
        long most = 0;
        int lentMost = 0;
        try
        {
            for (int i = 0; i < Clients; i++)
            {
                clients.Add(await SoakClient.ConnectAsync(scenario.Port, Application.Line));
            }

            for (int sent = 0; sent < BytesEach && (clock.Elapsed < scenario.Duration || sent == 0); sent++)
            {
                foreach (SoakClient client in clients)
                {
                    await client.SendAsync("x"u8.ToArray());
                }

                if (sent % 20 == 0)
                {
                    ServerReport during = await scenario.Server.ReportAsync();
                    most = Math.Max(most, during.ManagedBytes - before.ManagedBytes);
                    lentMost = Math.Max(lentMost, during.LentBuffers);
                    await ServeOneAsync(scenario.Port);
                }
            }
        }
        finally
        {
            clients.ForEach(client => client.Reset());
        }

        return most <= Clients * MemoryForEach
            ? $"{Clients} clients, at most {most / Clients} managed bytes and {(double)lentMost / Clients:F2} buffers each"
            : throw new SoakException($"{Clients} clients that send byte by byte hold {most} bytes; {Clients * MemoryForEach} are allowed.");
    }

    private static async Task ServeOneAsync(int port)
    {
        byte[] answer = "line\n"u8.ToArray();
        using SoakClient client = await SoakClient.ConnectAsync(port, Application.Line);
        await client.SendAsync("a whole line\n"u8.ToArray());
        await client.ReceiveBackAsync(answer, new byte[answer.Length]);
    }
}
