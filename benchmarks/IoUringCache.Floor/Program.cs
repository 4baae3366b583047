using System.Globalization;
using System.Net;
using System.Net.Sockets;
using System.Runtime.InteropServices;
using IoUringCache.Floor;
using IoUringCache.Ring;

const string Help =
    """
    IoUringCache.Floor [--urls URL] [--relay URL]

    Answers every request as samples/PlaintextServer answers GET /health, with no HTTP, no transport and no application: one thread and one
    ring. What that costs is the kernel's part of a request.

      --urls   The address to listen on: http, an IPv4 address and a port. Default: http://127.0.0.1:8080; port 0 takes a free one.
      --relay  An origin, given in the same way: each target is fetched there once, and sent to all who ask for it as it comes. What that
               costs is the kernel's part of a live body.
      --help   This text.
    """;

if (args.Contains("--help"))
{
    Console.WriteLine(Help);
    return 0;
}

string url = "http://127.0.0.1:8080";
IPEndPoint? address = Parse(url);
IPEndPoint? origin = null;
for (int index = 0; index < args.Length; index += 2)
{
    IPEndPoint? given = index + 1 < args.Length ? Parse(args[index + 1]) : null;
    if (given is null || args[index] is not ("--urls" or "--relay"))
    {
        Console.Error.WriteLine($"IoUringCache.Floor: {args[index]}: expected --urls or --relay and an address like http://127.0.0.1:8080");
        Console.Error.WriteLine("Run with --help for the options.");
        return 2;
    }

    if (args[index] == "--relay")
    {
        origin = given;
    }
    else
    {
        (url, address) = (args[index + 1], given);
    }
}

try
{
    using IFloor server = origin is null ? new FloorServer(address!) : new RelayServer(address!, origin);
    using PosixSignalRegistration termination = PosixSignalRegistration.Create(PosixSignal.SIGTERM, Stop);
    using PosixSignalRegistration interrupt = PosixSignalRegistration.Create(PosixSignal.SIGINT, Stop);

    // In the words of Kestrel's own servers, for who starts either.
    Console.WriteLine($"IO backend: io_uring ({server.Description})");
    Console.WriteLine(string.Create(CultureInfo.InvariantCulture, $"Now listening on: http://{server.EndPoint}"));
    Console.WriteLine("Application started.");
    server.Run();
    return 0;

    void Stop(PosixSignalContext context)
    {
        context.Cancel = true;
        server.Stop();
    }
}
catch (Exception exception) when (exception is SocketException or IoUringUnavailableException)
{
    Console.Error.WriteLine($"IoUringCache.Floor: cannot start on {url}: {exception.Message}");
    return 1;
}

static IPEndPoint? Parse(string url) =>
    Uri.TryCreate(url, UriKind.Absolute, out Uri? uri) && uri.Scheme == Uri.UriSchemeHttp
        && IPAddress.TryParse(uri.Host, out IPAddress? host) && host.AddressFamily == AddressFamily.InterNetwork
        ? new IPEndPoint(host, uri.Port)
        : null;
