using System.Net;
using System.Net.Sockets;
using IoUringCache.Transport.Tests.Support;

namespace IoUringCache.Transport.Tests.Refusals;

/// <summary>A process that runs out of descriptors.</summary>
public sealed class DescriptorLimitTests
{
    private const int Descriptors = 400;
    private const int Clients = 450;

    /// <summary>Clients that the server meets while it has descriptors.</summary>
    private const int FirstClients = 60;

    /// <summary>Times that the runtime may end the process instead.</summary>
    private const int Attempts = 3;

    [Fact]
    public async Task Accept_OutOfDescriptors_PausesAndRecoversWhenClientsLeave()
    {
        IoUringRequirement.Check();
        for (int attempt = 1; !await IsServedAsync(attempt); attempt++)
        {
        }
    }

    /// <summary>
    /// False if the runtime ended the process, which it does ("Out of memory.") where it has no descriptor when it first needs some
    /// assembly, on whatever transport.
    /// </summary>
    private static async Task<bool> IsServedAsync(int attempt)
    {
        await using ServerProcess server = ServerProcess.Start(
            TransportBackend.IoUring, "prlimit", $"--nofile={Descriptors}:{Descriptors}");
        try
        {
            await AssertPausesAndRecoversAsync(server);
            return true;
        }
        catch (Exception) when (attempt < Attempts && server.Errors.Contains("Out of memory.", StringComparison.Ordinal))
        {
            return false;
        }
    }

    private static async Task AssertPausesAndRecoversAsync(ServerProcess server)
    {
        await server.AssertServesAsync();
        IPEndPoint address = new(IPAddress.Parse(server.Address.Host), server.Address.Port);

        // Whatever many clients need is there before the descriptors run out.
        Socket[] firstClients = await Task.WhenAll(Enumerable.Range(0, FirstClients).Select(_ => GetAsync(address)));
        Array.ForEach(firstClients, client => client.Dispose());

        for (int round = 0; round < 2; round++)
        {
            List<Socket> clients = [];
            try
            {
                using Socket first = await GetAsync(address);
                while (clients.Count < Clients)
                {
                    Socket client = new(SocketType.Stream, ProtocolType.Tcp);
                    clients.Add(client);
                    await client.ConnectAsync(address).InTime();
                }

                await server.SaidAsync("failed with EMFILE; trying again in");

                // Those that are connected are served while others wait.
                await GetAsync(first);
            }
            finally
            {
                clients.ForEach(client => client.Dispose());
            }

            await server.AssertServesAsync();
        }
    }

    private static async Task<Socket> GetAsync(IPEndPoint address)
    {
        Socket client = new(SocketType.Stream, ProtocolType.Tcp);
        await client.ConnectAsync(address).InTime();
        await GetAsync(client);
        return client;
    }

    private static async Task GetAsync(Socket client)
    {
        await client.SendAllAsync("GET /plaintext HTTP/1.1\r\nHost: a\r\n\r\n"u8.ToArray());
        byte[] status = await client.ReceiveExactlyAsync("HTTP/1.1 200".Length);
        Assert.Equal("HTTP/1.1 200"u8.ToArray(), status);
        while (client.Available != 0)
        {
            await client.ReceiveAsync(new byte[4096]).InTime();
        }
    }
}
