using System.Net.Sockets;
using IoUringCache.Transport;
using Microsoft.AspNetCore.Server.Kestrel.Core;
using PlaintextServer;

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
    Console.Error.WriteLine($"PlaintextServer: {exception.Message}");
    Console.Error.WriteLine("Run with --help for the options.");
    return 2;
}

// Not given the arguments: the host would read them a second time, by looser rules.
WebApplicationBuilder builder = WebApplication.CreateSlimBuilder();
builder.Logging.SetMinimumLevel(LogLevel.Warning);
builder.Logging.AddFilter("Microsoft.Hosting.Lifetime", LogLevel.Information);
builder.Logging.AddFilter("IoUringCache.Transport", LogLevel.Information);
// The host gives every request an Activity as soon as its diagnostics could log anything; it would be measured with the transport.
builder.Logging.AddFilter("Microsoft.AspNetCore.Hosting.Diagnostics", LogLevel.None);
// A failed start is reported once, below, without the stack traces that the host and Kestrel would add.
builder.Logging.AddFilter("Microsoft.Extensions.Hosting.Internal.Host", LogLevel.None);
builder.Logging.AddFilter("Microsoft.AspNetCore.Server.Kestrel", level => level != LogLevel.Critical && level >= LogLevel.Warning);

builder.WebHost.UseUrls(options.Urls);
builder.WebHost.UseKestrelHttpsConfiguration();
builder.WebHost.ConfigureKestrel(kestrel =>
{
    kestrel.ConfigureHttpsDefaults(https => https.ServerCertificate = SelfMadeCertificate.Create());
    if (options.Protocols != HttpVersions.Http1AndHttp2)
    {
        // Both is Kestrel's default; said explicitly it would warn on every address without TLS.
        kestrel.ConfigureEndpointDefaults(endPoint =>
            endPoint.Protocols = options.Protocols == HttpVersions.Http2 ? HttpProtocols.Http2 : HttpProtocols.Http1);
    }

    kestrel.AddServerHeader = false;
    kestrel.Limits.MaxRequestBodySize = Endpoints.MaximumBytes;
    kestrel.UseSystemd();
});

bool inline = options.Scheduling == ApplicationScheduling.Inline;
builder.WebHost.UseSockets(sockets =>
{
    // The sockets transport at its fastest, so that a comparison is with its best set-up and not only with its default.
    sockets.UnsafePreferInlineScheduling = inline;
    sockets.WaitForDataBeforeAllocatingBuffer = options.WaitForData ?? !inline;
});
builder.WebHost.UseIoUring(transport =>
{
    transport.Backend = options.Transport;
    transport.ApplicationScheduling = options.Scheduling;
    transport.LoopCount = options.Loops ?? transport.LoopCount;
});
builder.Services.ConfigureHttpJsonOptions(json => json.SerializerOptions.TypeInfoResolverChain.Insert(0, MessageJsonContext.Default));

WebApplication app = builder.Build();
Endpoints.Map(app);

try
{
    await app.StartAsync();
}
catch (Exception exception) when (exception is IOException or SocketException or InvalidOperationException or PlatformNotSupportedException)
{
    Console.Error.WriteLine($"PlaintextServer: cannot start on {options.Urls} with --Transport {options.Transport}: {exception.Message}");
    return 1;
}

await app.WaitForShutdownAsync();
return 0;
