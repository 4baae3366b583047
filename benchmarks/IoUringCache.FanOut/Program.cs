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

    using Process self = Process.GetCurrentProcess();
    self.ProcessorAffinity = 1 << options.Cpu;
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
    using ServiceProcess service = ServiceProcess.Open(options, load.Origin.Port);
    load.Join(service.Url);
    load.RunFor(TimeSpan.FromSeconds(2));

    (TimeSpan cpu, long allocated, TimeSpan ownCpu) = (service.ReadProcessorTime(), service.ReadAllocatedBytes(), Environment.CpuUsage.TotalTime);
    (long started, long writtenBefore) = (Stopwatch.GetTimestamp(), load.Origin.WrittenCount);
    load.Results.BeginMeasuring();
    load.RunFor(TimeSpan.FromSeconds(options.Seconds));
    load.Results.EndMeasuring();
    (TimeSpan time, long written) = (Stopwatch.GetElapsedTime(started), load.Origin.WrittenCount - writtenBefore);
    (cpu, ownCpu) = (service.ReadProcessorTime() - cpu, Environment.CpuUsage.TotalTime - ownCpu);
    allocated = service.ReadAllocatedBytes() - allocated;
    load.End();

    Results results = load.Results;
    double chunks = Math.Max(1, results.ChunkCount);
    Report report = new(
        options.Readers,
        options.ChunkBytes,
        options.IntervalMilliseconds,
        time.TotalSeconds,
        written,
        results.ChunkCount,
        results.Percentile(0.5) / 1000.0,
        results.Percentile(0.99) / 1000.0,
        results.WorstDelay / 1000.0,
        cpu.TotalMicroseconds / chunks,
        allocated / chunks,
        ownCpu / time,
        load.Origin.RequestCount,
        results.ByteErrors,
        options.Readers - load.DoneCount);
    Console.WriteLine(options.WritesJson ? report.ToJson() : report.ToMarkdown());
    if (report.GeneratorLoad > Report.MostGeneratorLoad)
    {
        Console.Error.WriteLine("The load generator was busy for more than 90 % of the time: the delays may be its own.");
    }

    if (!report.IsRight)
    {
        Console.Error.WriteLine($"FAILED: {results.FirstError ?? "see the figures"}");
    }

    return report.IsRight ? 0 : 1;
}
