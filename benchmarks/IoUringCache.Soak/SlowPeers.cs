using System.Diagnostics;

namespace IoUringCache.Soak;

/// <summary>Clients that read a large response slowly, and clients that send slowly, with small kernel buffers in between.</summary>
internal static class SlowPeers
{
    private const int AtOnce = 200;
    private const int SmallestKernelBuffer = 4096;
    private const int Writes = 20;

    internal static async Task<string> RunAsync(Scenario scenario)
    {
        Stopwatch clock = Stopwatch.StartNew();
        int readers = 0;
        int writers = 0;
        await Task.WhenAll(Enumerable.Range(0, AtOnce).Select(index => Task.Run(async () =>
        {
            Random random = new(HashCode.Combine(scenario.Options.Seed, index));
            while (clock.Elapsed < scenario.Duration)
            {
                if (index % 2 == 0)
                {
                    await ReadSlowlyAsync(scenario.Port, random);
                    Interlocked.Increment(ref readers);
                }
                else
                {
                    await WriteSlowlyAsync(scenario.Port, random);
                    Interlocked.Increment(ref writers);
                }
            }
        })));
        return $"{readers} slow readers of {Application.BulkBytes} bytes, {writers} slow writers";
    }

    private static async Task ReadSlowlyAsync(int port, Random random)
    {
        using SoakClient client = await SoakClient.ConnectAsync(port, Application.Bulk, SmallestKernelBuffer);
        byte[] buffer = new byte[32 * 1024];
        int received = 0;
        int count;
        while ((count = await client.ReceiveAsync(buffer.AsMemory(0, random.Next(1024, buffer.Length)))) != 0)
        {
            received += count;
            await Task.Delay(random.Next(5));
        }

        if (received != Application.BulkBytes)
        {
            throw new SoakException($"A slow reader got {received} of {Application.BulkBytes} bytes.");
        }
    }

    private static async Task WriteSlowlyAsync(int port, Random random)
    {
        using SoakClient client = await SoakClient.ConnectAsync(port, Application.Echo);
        byte[] data = new byte[2048];
        byte[] buffer = new byte[2048];
        for (int i = 0; i < Writes; i++)
        {
            random.NextBytes(data);
            int half = random.Next(1, data.Length);
            await client.SendAsync(data.AsMemory(0, half));
            await Task.Delay(random.Next(10));
            await client.SendAsync(data.AsMemory(half));
            await client.ReceiveBackAsync(data, buffer);
        }

        client.Finish();
        await client.ReceiveToEndAsync(0, buffer);
    }
}
