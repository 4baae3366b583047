using System.Diagnostics;

namespace IoUringCache.Soak;

/// <summary>Many connections that have exchanged something once and then do nothing: they hold no buffer and no segment.</summary>
internal static class IdleConnections
{
    internal static async Task<string> RunAsync(Scenario scenario)
    {
        Stopwatch clock = Stopwatch.StartNew();
        byte[] data = "idle"u8.ToArray();
        byte[] buffer = new byte[data.Length];
        ServerReport before = await scenario.Server.ReportAsync();
        List<SoakClient> clients = [];
        try
        {
            for (int i = 0; i < scenario.Options.Idle; i++)
            {
                SoakClient client = await SoakClient.ConnectAsync(scenario.Port, Application.Echo);
                clients.Add(client);
                await client.SendAsync(data);
                await client.ReceiveBackAsync(data, buffer);
            }

            ServerReport during = await scenario.Server.ReportAsync();
            if (during.Connections != clients.Count || during.LentBuffers != 0 || during.SendSegments != 0)
            {
                throw new SoakException($"{clients.Count} connections are idle, and the server holds: {during}");
            }

            TimeSpan rest = scenario.Duration - clock.Elapsed;
            await Task.Delay(rest > TimeSpan.Zero ? rest : TimeSpan.Zero);
            foreach (SoakClient client in clients)
            {
                await client.SendAsync(data);
                await client.ReceiveBackAsync(data, buffer);
            }

            return $"{clients.Count} idle connections, {(during.ManagedBytes - before.ManagedBytes) / clients.Count} managed bytes each";
        }
        finally
        {
            clients.ForEach(client => client.Reset());
        }
    }
}
