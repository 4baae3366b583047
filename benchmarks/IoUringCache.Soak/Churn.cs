using System.Diagnostics;
using System.Net.Sockets;

namespace IoUringCache.Soak;

/// <summary>Connections that come, exchange something and end in every way there is.</summary>
internal static class Churn
{
    private const int AtOnce = 64;
    private const int MaxBytes = 16 * 1024;

    internal static async Task<string> RunAsync(Scenario scenario)
    {
        Stopwatch clock = Stopwatch.StartNew();
        int left = scenario.Options.Connections;
        int made = 0;
        await Task.WhenAll(Enumerable.Range(0, AtOnce).Select(index => Task.Run(async () =>
        {
            Random random = new(HashCode.Combine(scenario.Options.Seed, index));
            byte[] data = new byte[MaxBytes];
            byte[] buffer = new byte[MaxBytes];
            random.NextBytes(data);
            while (clock.Elapsed < scenario.Duration && Interlocked.Decrement(ref left) >= 0)
            {
                await ConnectOnceAsync(scenario.Port, random, data.AsMemory(0, random.Next(1, MaxBytes)), buffer);
                Interlocked.Increment(ref made);
            }
        })));
        return $"{made} connections in {clock.Elapsed.TotalSeconds:F0} s, {made / clock.Elapsed.TotalSeconds:F0} each second";
    }

    private static async Task ConnectOnceAsync(int port, Random random, ReadOnlyMemory<byte> data, byte[] buffer)
    {
        int ending = random.Next(8);
        using SoakClient client = await SoakClient.ConnectAsync(port, ending switch
        {
            0 => Application.Count,
            1 => Application.Abort,
            2 => Application.Bulk,
            3 => Application.Deaf,
            _ => Application.Echo,
        });
        try
        {
            switch (ending)
            {
                case 0: // Half-close: the answer comes after the client's FIN.
                    await client.SendAsync(data);
                    client.Finish();
                    await client.ReceiveToEndAsync((data.Length + 1023) / 1024, buffer);
                    break;
                case 1: // Aborted by the server.
                    await client.SendAsync(data);
                    await client.ReceiveAsync(buffer);
                    break;
                case 2: // Gone in the middle of a large response.
                    await client.ReceiveAsync(buffer);
                    client.Reset();
                    break;
                case 3: // Reset, with data that the application has not read.
                    await client.SendAsync(data);
                    client.Reset();
                    break;
                case 4: // Reset after an exchange.
                    await client.SendAsync(data);
                    await client.ReceiveBackAsync(data, buffer);
                    client.Reset();
                    break;
                case 5: // Closed with the answer on its way.
                    await client.SendAsync(data);
                    break;
                default: // In order.
                    await client.SendAsync(data);
                    await client.ReceiveBackAsync(data, buffer);
                    client.Finish();
                    await client.ReceiveToEndAsync(0, buffer);
                    break;
            }
        }
        catch (SocketException exception) when (ending == 1 && exception.SocketErrorCode is SocketError.ConnectionReset or SocketError.Shutdown)
        {
            // The abort that was asked for.
        }
    }
}
