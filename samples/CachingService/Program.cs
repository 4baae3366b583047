using CachingService;
using CachingService.Options;
using IoUringCache.Caching.Options;

if (CommandLine.AsksForHelp(args, out string topic))
{
    Console.Out.Write(HelpText.Write(topic));
    return 0;
}

if (CommandLine.AsksForVersion(args))
{
    Console.Out.Write(HelpText.WriteVersion());
    return 0;
}

if (OpenFiles.FindFault() is { } fault)
{
    Console.Error.WriteLine(fault);
    return 1;
}

try
{
    if (CommandLine.AsksForCheck(args, out string[] options))
    {
        OptionSources.Read(options);
        Console.Out.WriteLine("The options are valid.");
        return 0;
    }

    PoolSpinning.Limit(Environment.ProcessorCount);
    using OperatorSignals signals = new();
    await using CachingServiceHost service = await CachingServiceHost.StartAsync(args);
    signals.Service = service;
    await service.WaitForShutdownAsync();
    signals.Service = null;
    return 0;
}
catch (OperationCanceledException)
{
    // By a signal, before it was there for anybody.
    return 0;
}
catch (Exception failure) when (failure is OptionException or PlatformNotSupportedException)
{
    // A wrong option, an address in use, io_uring required and unavailable: the operator needs the sentence, not the stack.
    Console.Error.WriteLine(failure.Message);
    return 1;
}
