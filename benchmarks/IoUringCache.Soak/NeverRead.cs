using System.Diagnostics;

namespace IoUringCache.Soak;

/// <summary>Clients that send 1 MiB each to applications that never read, while another client is served.</summary>
internal static class NeverRead
{
    private const int Clients = 64;

    internal static async Task<string> RunAsync(Scenario scenario)
    {
        Stopwatch clock = Stopwatch.StartNew();
        byte[] data = new byte[1024 * 1024];
        byte[] small = new byte[1000];
        byte[] buffer = new byte[small.Length];
        Random random = new(scenario.Options.Seed);
        int rounds = 0;
        int exchanges = 0;
        int lentMost = 0;
        do
        {
            List<SoakClient> clients = [];
            using CancellationTokenSource end = new();
            List<Task> sends = [];
            for (int i = 0; i < Clients; i++)
            {
                SoakClient client = await SoakClient.ConnectAsync(scenario.Port, Application.Deaf);
                clients.Add(client);
                sends.Add(SendAsync(client, data, end.Token));
            }

            using (SoakClient served = await SoakClient.ConnectAsync(scenario.Port, Application.Echo))
            {
                for (int i = 0; i < 500; i++, exchanges++)
                {
                    random.NextBytes(small);
                    await served.SendAsync(small);
                    await served.ReceiveBackAsync(small, buffer);
                }

                lentMost = Math.Max(lentMost, (await scenario.Server.ReportAsync()).LentBuffers);
            }

            await end.CancelAsync();
            await Task.WhenAll(sends);
            clients.ForEach(client => client.Reset());
            rounds++;
        }
        while (clock.Elapsed < scenario.Duration);

        return $"{rounds} times {Clients} clients, {lentMost} buffers lent at most, {exchanges} exchanges of another client meanwhile";
    }

    private static async Task SendAsync(SoakClient client, byte[] data, CancellationToken end)
    {
        try
        {
            await client.SendUntilAsync(data, end);
        }
        catch (OperationCanceledException)
        {
            // The kernel's buffers were full, as they should be.
        }
    }
}
