using System.Net.Sockets;
using EchoServer;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Server.Kestrel.Core;

if (args.Contains("--help"))
{
    Console.WriteLine(CommandLine.Help);
    return 0;
}

CommandLine options;
try
{
    options = CommandLine.Parse(args);
}
catch (FormatException exception)
{
    Console.Error.WriteLine($"EchoServer: {exception.Message}");
    return 2;
}

// The empty builder: there is no HTTP here, the host must not read the arguments a second time, and what the slim builder reads of
// Kestrel's certificates does not survive trimming (a TypeLoadException of X509Certificate2Collection in .NET 10.0.12).
WebApplicationBuilder builder = WebApplication.CreateEmptyBuilder(new WebApplicationOptions());
builder.Logging.AddConsole();

// A failed start is reported once, below, without the stack trace that the host would add.
builder.Logging.AddFilter("Microsoft.Extensions.Hosting.Internal.Host", LogLevel.None);
builder.WebHost.UseKestrelCore();
builder.WebHost.UseIoUring();
builder.WebHost.ConfigureKestrel(kestrel =>
{
    kestrel.ListenLocalhost(options.Port, Echo);
    if (options.UnixPath is not null)
    {
        kestrel.ListenUnixSocket(options.UnixPath, Echo);
    }
});

await using WebApplication app = builder.Build();
try
{
    await app.StartAsync();
}
catch (Exception exception) when (exception is IOException or SocketException)
{
    Console.Error.WriteLine($"EchoServer: cannot start on {options.Places}: {exception.Message}");
    return 1;
}

await app.WaitForShutdownAsync();
return 0;

static void Echo(ListenOptions endPoint) => endPoint.UseConnectionHandler<EchoConnectionHandler>();
