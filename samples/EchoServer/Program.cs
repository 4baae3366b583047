using System.Globalization;
using EchoServer;
using Microsoft.AspNetCore.Connections;

const string Help =
    """
    EchoServer [--port N]

    Sends back what a connection sends: the io_uring transport without HTTP. Try it with: nc 127.0.0.1 7007

      --port  TCP port on the loopback addresses, 1 to 65535 (default 7007)
      --help  This text.
    """;

string portText;
switch (args)
{
    case ["--help"]:
        Console.WriteLine(Help);
        return 0;
    case []:
        portText = "7007";
        break;
    case ["--port", string text]:
        portText = text;
        break;
    default:
        Console.Error.WriteLine($"EchoServer: '{string.Join(' ', args)}' is not understood; run with --help for the options");
        return 2;
}

if (!ushort.TryParse(portText, NumberStyles.None, CultureInfo.InvariantCulture, out ushort port) || port == 0)
{
    Console.Error.WriteLine($"EchoServer: --port: '{portText}' is not a port; expected 1 to 65535");
    return 2;
}

// Not given the arguments: the host would read them a second time, by looser rules.
WebApplicationBuilder builder = WebApplication.CreateSlimBuilder();

// A failed start is reported once, below, without the stack trace that the host would add.
builder.Logging.AddFilter("Microsoft.Extensions.Hosting.Internal.Host", LogLevel.None);
builder.WebHost.UseIoUring();
builder.WebHost.ConfigureKestrel(kestrel =>
    kestrel.ListenLocalhost(port, endpoint => endpoint.UseConnectionHandler<EchoConnectionHandler>()));

await using WebApplication app = builder.Build();
try
{
    await app.StartAsync();
}
catch (IOException exception)
{
    Console.Error.WriteLine($"EchoServer: cannot start on port {port}: {exception.Message}");
    return 1;
}

await app.WaitForShutdownAsync();
return 0;
