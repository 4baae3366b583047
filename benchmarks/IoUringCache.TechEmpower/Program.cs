using System.Net.Sockets;
using IoUringCache.TechEmpower;

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
    Console.Error.WriteLine($"IoUringCache.TechEmpower: {exception.Message}");
    Console.Error.WriteLine("Run with --help for the options.");
    return 2;
}

await using WebApplication application = Server.Build(options, ConfigureLogging);
try
{
    await application.StartAsync();
}
catch (Exception exception) when (exception is IOException or SocketException or InvalidOperationException or PlatformNotSupportedException)
{
    Console.Error.WriteLine(
        $"IoUringCache.TechEmpower: cannot start on {options.Urls} with --Transport {options.Transport}: {exception.Message}");
    return 1;
}

await application.WaitForShutdownAsync();
return 0;

static void ConfigureLogging(ILoggingBuilder logging)
{
    logging.SetMinimumLevel(LogLevel.Warning);
    logging.AddFilter("Microsoft.Hosting.Lifetime", LogLevel.Information);
    logging.AddFilter("IoUringCache.Transport", LogLevel.Information);

    // The host gives every request an Activity as soon as its diagnostics could log anything; it would be measured with the transport.
    logging.AddFilter("Microsoft.AspNetCore.Hosting.Diagnostics", LogLevel.None);

    // A failed start is reported once, by the program, without the stack trace that the host would add.
    logging.AddFilter("Microsoft.Extensions.Hosting.Internal.Host", LogLevel.None);
}
