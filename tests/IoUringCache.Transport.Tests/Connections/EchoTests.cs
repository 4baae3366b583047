using System.Net;
using System.Net.Sockets;
using IoUringCache.Transport.Tests.Support;

namespace IoUringCache.Transport.Tests.Connections;

/// <summary>The smoke matrix: every size around the buffers' borders, over every kind of end point and every variant of the options.</summary>
public sealed class EchoTests
{
    private static readonly int[] s_sizes = [0, 1, 4095, 4096, 4097, 65_537];

    public static TheoryData<string, string> Matrix
    {
        get
        {
            TheoryData<string, string> matrix = [];
            foreach (string variant in OptionVariants.Names)
            {
                foreach (string endPoint in new[] { "IPv4", "IPv6", "dual mode", "Unix" })
                {
                    matrix.Add(endPoint, variant);
                }
            }

            return matrix;
        }
    }

    public static TheoryData<string> Variants => [.. OptionVariants.Names];

    [Theory]
    [MemberData(nameof(Matrix))]
    public async Task Echo_OfEverySize_ComesBackExactly(string endPoint, string variant)
    {
        (EndPoint bind, IPAddress? connect) = EndPointNamed(endPoint);
        await using TransportServer server = await TransportServer.StartAsync(
            configure: OptionVariants.Named(variant), endPoint: bind);
        EndPoint to = connect is null ? server.EndPoint : new IPEndPoint(connect, ((IPEndPoint)server.EndPoint).Port);
        Task serving = server.ServeAsync(ServerPipe.EchoAsync);

        await Task.WhenAll(s_sizes.Select(size => EchoAsync(server, to, size))).InTime();

        await server.Listener.UnbindAsync().InTime();
        await serving.InTime();
    }

    [Theory]
    [MemberData(nameof(Variants))]
    public async Task Echo_Of10MiB_ComesBackExactly(string variant)
    {
        await using TransportServer server = await TransportServer.StartAsync(configure: OptionVariants.Named(variant));
        Task serving = server.ServeAsync(ServerPipe.EchoAsync);

        await EchoAsync(server, server.EndPoint, 10 * 1024 * 1024);

        await server.Listener.UnbindAsync().InTime();
        await serving.InTime();
    }

    [Theory]
    [InlineData("thread pool, 2 loops")]
    [InlineData("inline, 4 loops")]
    [InlineData("inline, ring of 8, 2 buffers of 512")]
    public async Task Echo_Of1000Connections_ComesBackExactly(string variant)
    {
        await using TransportServer server = await TransportServer.StartAsync(configure: OptionVariants.Named(variant));
        Task serving = server.ServeAsync(ServerPipe.EchoAsync);

        // All are connected before the first one sends.
        Socket[] clients = await Task.WhenAll(Enumerable.Range(0, 1000).Select(_ => server.ConnectClientAsync())).InTime();
        await Task.WhenAll(clients.Select((client, index) => EchoAsync(client, Payload.Of(1 + (index % 700), index)))).InTime();

        await server.Listener.UnbindAsync().InTime();
        await serving.InTime();
    }

    private static async Task EchoAsync(TransportServer server, EndPoint to, int size) =>
        await EchoAsync(await server.ConnectClientAsync(to: to), Payload.Of(size, size));

    private static async Task EchoAsync(Socket client, byte[] sent)
    {
        using (client)
        {
            Task<byte[]> receiving = client.ReceiveToEndAsync();
            await client.SendAllAsync(sent);
            client.Shutdown(SocketShutdown.Send);
            Payload.AssertEqual(sent, await receiving.InTime());
        }
    }

    private static (EndPoint Bind, IPAddress? Connect) EndPointNamed(string name)
    {
        switch (name)
        {
            case "IPv4":
                return (new IPEndPoint(IPAddress.Loopback, 0), IPAddress.Loopback);
            case "IPv6":
                Assert.SkipUnless(Socket.OSSupportsIPv6, "There is no IPv6 here.");
                return (new IPEndPoint(IPAddress.IPv6Loopback, 0), IPAddress.IPv6Loopback);
            case "dual mode":
                Assert.SkipUnless(Socket.OSSupportsIPv6, "There is no IPv6 here.");
                return (new IPEndPoint(IPAddress.IPv6Any, 0), IPAddress.Loopback);
            default:
                return (TransportServer.NewUnixEndPoint(), null);
        }
    }
}
