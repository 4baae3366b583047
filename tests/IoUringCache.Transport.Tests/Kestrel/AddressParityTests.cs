using System.Net;
using System.Net.Sockets;
using IoUringCache.Transport.Tests.Support;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Http;

namespace IoUringCache.Transport.Tests.Kestrel;

/// <summary>End points by address, as <c>ASPNETCORE_URLS</c> and <c>--urls</c> name them.</summary>
public sealed class AddressParityTests
{
    /// <summary>An address, and from where a client reaches it.</summary>
    private static readonly Dictionary<string, string[]> s_addresses = new()
    {
        ["http://127.0.0.1:0"] = ["127.0.0.1"],
        ["http://[::1]:0"] = ["[::1]"],
        ["http://0.0.0.0:0"] = ["127.0.0.1"],
        ["http://[::]:0"] = ["127.0.0.1", "[::1]"],
        ["http://*:0"] = ["127.0.0.1", "[::1]"],
        ["http://+:0"] = ["127.0.0.1", "[::1]"],
        ["http://any.name:0"] = ["127.0.0.1", "[::1]"],
    };

    public static TheoryData<TransportKind, string> Addresses => Transports.AllWith(s_addresses.Keys);

    [Theory]
    [MemberData(nameof(Addresses))]
    public async Task Address_OfUrl_Serves(TransportKind kind, string address)
    {
        Assert.SkipUnless(Socket.OSSupportsIPv6, "There is no IPv6 here.");
        await using KestrelHost host = await StartAsync(kind, address);
        using HttpClient client = new() { Timeout = Deadline.Limit };
        foreach (string name in s_addresses[address])
        {
            Assert.Equal("hello", await client.GetStringAsync(new Uri($"http://{name}:{host.Address.Port}")).InTime());
        }
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task Address_OfLocalhost_ServesOnBothLoopbacks(TransportKind kind)
    {
        Assert.SkipUnless(Socket.OSSupportsIPv6, "There is no IPv6 here.");
        using Socket reserved = ReservePort();
        await using KestrelHost host = await StartAsync(kind, $"http://localhost:{((IPEndPoint)reserved.LocalEndPoint!).Port}");
        using HttpClient client = new() { Timeout = Deadline.Limit };
        Assert.Equal("hello", await client.GetStringAsync(new Uri($"http://127.0.0.1:{host.Address.Port}")).InTime());
        Assert.Equal("hello", await client.GetStringAsync(new Uri($"http://[::1]:{host.Address.Port}")).InTime());
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task Address_OfUnixSocket_Serves(TransportKind kind)
    {
        UnixDomainSocketEndPoint endPoint = TransportServer.NewUnixEndPoint();
        await using KestrelHost host = await StartAsync(kind, $"http://unix:{endPoint}");
        using Socket client = new(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);
        await client.ConnectAsync(endPoint).InTime();
        await client.SendTextAsync("GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
        Assert.Contains("hello", await client.ReceiveTextToEndAsync(), StringComparison.Ordinal);
    }

    [Theory]
    [MemberData(nameof(Transports.All), MemberType = typeof(Transports))]
    public async Task Addresses_OfSeveralUrls_AllServe(TransportKind kind)
    {
        await using KestrelHost host = await StartAsync(kind, "http://127.0.0.1:0;http://127.0.0.1:0;http://127.0.0.1:0");
        Assert.Equal(3, host.Addresses.DistinctBy(address => address.Port).Count());
        using HttpClient client = new() { Timeout = Deadline.Limit };
        foreach (Uri address in host.Addresses)
        {
            Assert.Equal("hello", await client.GetStringAsync(address).InTime());
        }
    }

    private static Task<KestrelHost> StartAsync(TransportKind kind, string addresses) => KestrelHost.StartAsync(
        kind,
        application => application.Run(context => context.Response.WriteAsync("hello")),
        kestrel: _ => { },
        host: builder => builder.UseUrls(addresses));

    /// <summary>
    /// Localhost is two end points, so its port cannot be left to the kernel. A socket that is bound and does not listen is not given to others, and
    /// with SO_REUSEADDR, which .NET sets on listening sockets as well, the server can still bind its port (socket(7)).
    /// </summary>
    private static Socket ReservePort()
    {
        Socket reserved = new(AddressFamily.InterNetworkV6, SocketType.Stream, ProtocolType.Tcp) { DualMode = true };
        reserved.SetSocketOption(SocketOptionLevel.Socket, SocketOptionName.ReuseAddress, true);
        reserved.Bind(new IPEndPoint(IPAddress.IPv6Any, 0));
        return reserved;
    }
}
