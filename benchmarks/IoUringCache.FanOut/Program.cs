using System.Diagnostics;
using System.Net.Sockets;
using IoUringCache.FanOut;
using IoUringCache.Ring;

if (args.Contains("--help"))
{
    Console.WriteLine(FanOutOptions.Help);
    return 0;
}

try
{
    FanOutOptions options = FanOutOptions.Parse(args);
    if (!IoUring.IsSupported)
    {
        throw new FanOutException(IoUring.UnavailableReason!);
    }

    return Run(options);
}
catch (Exception exception) when (exception is FormatException or FanOutException or SocketException or HttpRequestException or IOException)
{
    Console.Error.WriteLine($"IoUringCache.FanOut: {exception.Message}");
    Console.Error.WriteLine("Run with --help for the options.");
    return 2;
}

static int Run(FanOutOptions options)
{
    using Load load = new(options);
    ServiceUsage.Read(options); // The first time compiles what it takes, which would hold the readers up later.
    load.Join();
    load.RunFor(TimeSpan.FromSeconds(options.WarmUpSeconds));

    (ServiceUsage used, TimeSpan ownTime) = (ServiceUsage.Read(options), Environment.CpuUsage.TotalTime);
    (long started, long writtenBefore) = (Stopwatch.GetTimestamp(), load.Origin.WrittenCount);
    load.Results.BeginMeasuring();
    load.RunFor(TimeSpan.FromSeconds(options.Seconds), options.Joiners);
    load.Results.EndMeasuring();
    (TimeSpan time, long written) = (Stopwatch.GetElapsedTime(started), load.Origin.WrittenCount - writtenBefore);
    (used, ownTime) = (ServiceUsage.Read(options).Since(used), Environment.CpuUsage.TotalTime - ownTime);
    load.End();

    Results results = load.Results;
    double chunks = Math.Max(1, results.ChunkCount);
    Report report = new(
        options.Readers,
        time.TotalSeconds,
        written,
        results.ChunkCount,
        results.PercentilesInMilliseconds(),
        used.ProcessorTime.TotalMicroseconds / chunks,
        used.AllocatedBytes / chunks,
        used.ProcessorTime / time,
        ownTime / time,
        load.Origin.RequestCount,
        results.ByteErrors + load.JoinersResults.ByteErrors,
        options.Readers + options.Joiners - load.DoneCount);
    Console.WriteLine(report.ToJson());
    if (!report.IsRight)
    {
        Console.Error.WriteLine($"FAILED: {results.FirstError ?? load.JoinersResults.FirstError ?? "see the figures"}");
    }

    return report.IsRight ? 0 : 1;
}
