using System.Runtime;
using IoUringCache.Transport;
using IoUringCache.Transport.Internal.Loops;
using IoUringCache.Transport.Internal.Scheduling;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Http;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Logging;
using Microsoft.Extensions.Options;

namespace IoUringCache.Soak;

/// <summary>
/// The server process: Kestrel on io_uring with raw connections. Answers each line of its standard input with a line that says what it
/// holds, and ends with its input.
/// </summary>
internal static class SoakServer
{
    private const string Argument = "--serve";
    private const int Loops = 2;

    /// <summary>The arguments that make a process this one.</summary>
    internal static string[] ArgumentsFor(ApplicationScheduling scheduling) => [Argument, scheduling.ToString()];

    internal static bool IsMeantBy(string[] arguments) => arguments is [Argument, _];

    internal static async Task RunAsync(string[] arguments)
    {
        WebApplicationBuilder builder = WebApplication.CreateSlimBuilder();
        builder.Logging.ClearProviders();
        builder.WebHost.UseIoUring(options =>
        {
            options.Backend = TransportBackend.IoUring;
            options.ApplicationScheduling = Enum.Parse<ApplicationScheduling>(arguments[1]);
            options.LoopCount = Loops;
        });
        builder.WebHost.ConfigureKestrel(kestrel => kestrel.ListenAnyIP(0, endPoint => endPoint.Run(Application.ServeAsync)));
        await using WebApplication app = builder.Build();
        await app.StartAsync();

        IoUringTransportOptions options = app.Services.GetRequiredService<IOptions<IoUringTransportOptions>>().Value;
        EventLoopGroup loops = await EventLoopGroup.AcquireAsync(EventLoopSettings.From(options));
        int port = BindingAddress.Parse(app.Urls.First()).Port;
        while (await Console.In.ReadLineAsync() is not null)
        {
            Console.WriteLine(Report(port, loops).ToLine());
        }

        await app.StopAsync();
        await loops.ReleaseAsync();
    }

    private static ServerReport Report(int port, EventLoopGroup loops)
    {
        LoopUsage usage = loops.Usage;
        GCSettings.LargeObjectHeapCompactionMode = GCLargeObjectHeapCompactionMode.CompactOnce;
        GC.Collect(GC.MaxGeneration, GCCollectionMode.Aggressive, blocking: true, compacting: true);
        GC.WaitForPendingFinalizers();
        GC.Collect(GC.MaxGeneration, GCCollectionMode.Aggressive, blocking: true, compacting: true);
        return new ServerReport(
            port,
            Application.ConnectionCount,
            Directory.GetFiles("/proc/self/fd").Count(IsNoFile) - SpareThreadCount(),
            usage.ItemCount,
            usage.AcquiredBufferCount,
            usage.RentedSegmentCount,
            GC.GetTotalMemory(forceFullCollection: false),
            ResidentBytes());
    }

    /// <summary>Threads that Adaptive made for blocked loops, each with an event descriptor. They stay as long as the loops.</summary>
    private static int SpareThreadCount() => Directory.GetDirectories("/proc/self/task")
        .Count(static task => File.ReadAllText(Path.Combine(task, "comm")).StartsWith("io_uring spare", StringComparison.Ordinal));

    private static bool IsNoFile(string descriptor) =>
        new FileInfo(descriptor).LinkTarget is { } target && !target.StartsWith('/'); // Null: it was closed meanwhile.

    private static long ResidentBytes() =>
        long.Parse(File.ReadAllText("/proc/self/statm").Split(' ')[1]) * Environment.SystemPageSize;
}
