using System.Globalization;
using EchoServer;
using Microsoft.AspNetCore.Connections;

WebApplicationBuilder builder = WebApplication.CreateSlimBuilder(args);
string portText = builder.Configuration["port"] ?? "7007";
if (!ushort.TryParse(portText, NumberStyles.None, CultureInfo.InvariantCulture, out ushort port) || port == 0)
{
    Console.Error.WriteLine($"EchoServer: --port: '{portText}' is not a port; expected 1 to 65535");
    return 2;
}

builder.WebHost.UseIoUring();
builder.WebHost.ConfigureKestrel(kestrel =>
    kestrel.ListenLocalhost(port, endpoint => endpoint.UseConnectionHandler<EchoConnectionHandler>()));

await builder.Build().RunAsync();
return 0;
