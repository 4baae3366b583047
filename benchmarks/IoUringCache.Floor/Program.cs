using System.Globalization;
using System.Net;
using System.Net.Sockets;
using System.Runtime.InteropServices;
using IoUringCache.Floor;
using IoUringCache.Ring;

const string Help =
    """
    IoUringCache.Floor [--urls URL]

    Answers every request as samples/PlaintextServer answers GET /health, with no HTTP, no transport and no application: one thread and one
    ring. What that costs is the kernel's part of a request.

      --urls  The address to listen on: http, an IPv4 address and a port. Default: http://127.0.0.1:8080; port 0 takes a free one.
      --help  This text.
    """;

if (args.Contains("--help"))
{
    Console.WriteLine(Help);
    return 0;
}

string url = args switch
{
    [] => "http://127.0.0.1:8080",
    ["--urls", var value] => value,
    _ => "",
};
if (!Uri.TryCreate(url, UriKind.Absolute, out Uri? address) || address.Scheme != Uri.UriSchemeHttp
    || !IPAddress.TryParse(address.Host, out IPAddress? host) || host.AddressFamily != AddressFamily.InterNetwork)
{
    Console.Error.WriteLine("IoUringCache.Floor: expected --urls and an address like http://127.0.0.1:8080");
    Console.Error.WriteLine("Run with --help for the options.");
    return 2;
}

try
{
    using FloorServer server = new(new IPEndPoint(host, address.Port));
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
