using System.Net;
using System.Net.Sockets;
using IoUringCache.Transport.Tests.Support;

namespace IoUringCache.Transport.Tests.Refusals;

/// <summary>A process that is short of descriptors.</summary>
public sealed class DescriptorLimitTests
{
    private const int Descriptors = 400;
    private const int Clients = 450;

    /// <summary>Clients come before the first request, for which the server has to open assemblies.</summary>
    [Fact]
    public async Task Accept_NearTheLimitOfDescriptors_PausesAndLeavesSomeToTheProcess()
    {
        IoUringRequirement.Check();
        await using ServerProcess server = ServerProcess.Start(
            TransportBackend.IoUring, "prlimit", $"--nofile={Descriptors}:{Descriptors}");
        await server.SaidAsync("Now listening on: ");
        IPEndPoint address = new(IPAddress.Parse(server.Address.Host), server.Address.Port);
        for (int round = 0; round < 2; round++)
        {
            List<Socket> clients = [];
            try
            {
                while (clients.Count < Clients)
                {
                    Socket client = new(SocketType.Stream, ProtocolType.Tcp);
                    clients.Add(client);
                    await client.ConnectAsync(address).InTime();
                }

                await server.SaidAsync($" of {Descriptors} descriptors are in use");

                // Those that are connected are served while others wait.
                await GetAsync(clients[0]);
            }
            finally
            {
                clients.ForEach(client => client.Dispose());
            }

            await server.AssertServesAsync();
        }

        Assert.DoesNotContain("EMFILE", server.Output, StringComparison.Ordinal);
    }

    [Fact]
    public async Task Start_WithTooFewDescriptors_SaysHowManyItNeeds()
    {
        IoUringRequirement.Check();
        await using ServerProcess server = ServerProcess.Start(TransportBackend.IoUring, "prlimit", "--nofile=256:256");

        Assert.Equal(1, await server.ExitAsync());

        const string Reason = "The limit of open files is 256";
        await Deadline.UntilAsync(() => server.Errors.Contains(Reason, StringComparison.Ordinal), () => server.Errors);
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
