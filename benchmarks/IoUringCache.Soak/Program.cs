using System.Net.Sockets;
using IoUringCache.Ring;
using IoUringCache.Soak;

if (SoakServer.IsMeantBy(args))
{
    await SoakServer.RunAsync(args);
    return 0;
}

if (args.Contains("--help"))
{
    Console.WriteLine(SoakOptions.Help);
    return 0;
}

SoakOptions options;
try
{
    options = SoakOptions.Parse(args);
}
catch (FormatException exception)
{
    Console.Error.WriteLine($"IoUringCache.Soak: {exception.Message}");
    Console.Error.WriteLine("Run with --help for the options.");
    return 2;
}

if (!IoUring.IsSupported)
{
    Console.Error.WriteLine($"IoUringCache.Soak: {IoUring.UnavailableReason}");
    return 2;
}

Console.WriteLine($"seed {options.Seed}, {options.Duration}, {options.Scheduling}");
try
{
    return await SoakRun.RunAsync(options) ? 0 : 1;
}
catch (Exception exception) when (exception is SoakException or SocketException or OperationCanceledException)
{
    Console.WriteLine($"FAILED  {exception.GetType().Name}: {exception.Message}");
    return 1;
}
