using System.Text;
using IoUringCache.Transport.Tests.Support;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Hosting;
using Microsoft.Extensions.Configuration;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Logging;
using Microsoft.Extensions.Options;

namespace IoUringCache.Transport.Tests.Kestrel;

/// <summary>The options out of a section of the application's configuration, as the package's README shows it.</summary>
public sealed class ConfigurationTests
{
    private const string EveryOption =
        """
        { "IoUring": {
            "Backend": "Sockets", "ApplicationScheduling": "inline", "LoopCount": 3,
            "MaxReadBufferSize": 5, "MaxWriteBufferSize": 6, "Backlog": 7, "NoDelay": false, "MaxBusyConnectionsPerLoop": 9,
            "ConnectTimeout": "00:00:10", "KeepAliveTime": "00:01:00",
            "Advanced": { "RingEntries": 64, "ReceiveBufferCount": 128, "ReceiveBufferSize": 1024 } } }
        """;

    /// <summary>Who is given the section. The framework binds it by reflection.</summary>
    public enum Way
    {
        Builder,
        Services,
        Framework,
    }

    [Theory]
    [InlineData(Way.Builder)]
    [InlineData(Way.Services)]
    [InlineData(Way.Framework)]
    public async Task Section_WithEveryOption_SetsEachOne(Way way)
    {
        await using WebApplication application = Build(EveryOption, way);

        IoUringTransportOptions options = OptionsOf(application);

        Assert.Equal((TransportBackend.Sockets, ApplicationScheduling.Inline), (options.Backend, options.ApplicationScheduling));
        Assert.Equal((3, 9), (options.LoopCount, options.MaxBusyConnectionsPerLoop));
        Assert.Equal((5, 6), (options.MaxReadBufferSize, options.MaxWriteBufferSize));
        Assert.Equal((7, false), (options.Backlog, options.NoDelay));
        Assert.Equal((TimeSpan.FromSeconds(10), TimeSpan.FromMinutes(1)), (options.ConnectTimeout, options.KeepAliveTime));
        IoUringTransportAdvancedOptions advanced = options.Advanced;
        Assert.Equal((64, 128, 1024), (advanced.RingEntries, advanced.ReceiveBufferCount, advanced.ReceiveBufferSize));

        // An option that is added must be added to this test too; the one that is missing here can only be set in code.
        Assert.Equal(12, typeof(IoUringTransportOptions).GetProperties().Length);
        Assert.Equal(3, typeof(IoUringTransportAdvancedOptions).GetProperties().Length);
    }

    [Fact]
    public async Task Section_WithUnknownKeys_WarnsOfThemOnceAndSetsTheOthers()
    {
        LogRecorder log = new(LogLevel.Information);
        await using WebApplication application = Build(
            """
            { "IoUring": {
                "backend": "Sockets", "LoopsCount": 2, "Backlog": 18, "NoDelay": [ true ], "CreateBoundListenSocket": "x",
                "Advanced": { "RingEntry": 64, "ReceiveBufferSize": 1024 } } }
            """,
            log: log);

        await application.StartAsync().InTime();
        IoUringTransportOptions options = OptionsOf(application);
        _ = application.Services.GetRequiredService<IOptionsMonitor<IoUringTransportOptions>>().CurrentValue;

        Assert.Equal((TransportBackend.Sockets, 18, 1024), (options.Backend, options.Backlog, options.Advanced.ReceiveBufferSize));
        LogEntry warning = Assert.Single(log.Entries, static entry => entry.Level >= LogLevel.Warning);
        Assert.Equal("IoUringCache.Transport", warning.Category);
        Assert.Contains(
            ": IoUring:Advanced:RingEntry, IoUring:CreateBoundListenSocket, IoUring:LoopsCount, IoUring:NoDelay:0.",
            warning.Message,
            StringComparison.Ordinal);
    }

    [Theory]
    [InlineData(EveryOption)]
    [InlineData("""{ "IoUring": { "LOOPCOUNT": 2, "Advanced": {} } }""")]
    [InlineData("{}")]
    public async Task Section_WithKnownKeysOnly_WarnsOfNothing(string configuration)
    {
        LogRecorder log = new(LogLevel.Information);
        await using WebApplication application = Build(configuration, log: log);

        _ = OptionsOf(application);

        Assert.Empty(log.Entries);
    }

    /// <summary>No section, but all of a configuration; and no logs, as in an application that only connects.</summary>
    [Fact]
    public void Configuration_AsAWhole_SetsOptions()
    {
        ServiceCollection services = new();
        services.AddIoUringTransport(new ConfigurationBuilder().AddInMemoryCollection([new("LoopCount", "3"), new("LoopsCount", "4")]).Build());
        using ServiceProvider provider = services.BuildServiceProvider();

        Assert.Equal(3, provider.GetRequiredService<IOptions<IoUringTransportOptions>>().Value.LoopCount);
    }

    [Fact]
    public async Task Section_WithoutAnOption_LeavesWhatUseSocketsSaid()
    {
        await using WebApplication application = Build("""{ "IoUring": { "LoopCount": 3 } }""");

        IoUringTransportOptions options = OptionsOf(application);

        Assert.Equal((3, 17), (options.LoopCount, options.Backlog));
    }

    /// <summary>Both ways to add the transport, and the section before or after it, each with an action beside it.</summary>
    [Theory]
    [InlineData(false, false, 3)]
    [InlineData(false, true, 2)]
    [InlineData(true, false, 3)]
    [InlineData(true, true, 2)]
    public async Task Section_BeforeOrAfterTheTransport_StartsFromUseSocketsAndTheLaterOneSets(bool byServices, bool sectionFirst, int loops)
    {
        WebApplicationBuilder builder = WebApplication.CreateEmptyBuilder(new WebApplicationOptions());
        builder.Configuration.AddJsonStream(new MemoryStream("""{ "IoUring": { "LoopCount": 3, "Backlog": 18 } }"""u8.ToArray()));
        builder.WebHost.UseKestrelCore();
        if (sectionFirst)
        {
            AddSection();
            AddTransport();
        }
        else
        {
            AddTransport();
            AddSection();
        }

        builder.WebHost.UseSockets(sockets => (sockets.Backlog, sockets.MaxReadBufferSize) = (17, 5));
        await using WebApplication application = builder.Build();

        IoUringTransportOptions options = OptionsOf(application);

        Assert.Equal((loops, 18, 5), (options.LoopCount, options.Backlog, options.MaxReadBufferSize));

        void AddSection() => builder.Services.Configure<IoUringTransportOptions>(builder.Configuration.GetSection("IoUring"));

        void AddTransport()
        {
            if (byServices)
            {
                builder.Services.AddIoUringTransport(options => options.LoopCount = 2);
            }
            else
            {
                builder.WebHost.UseIoUring(options => options.LoopCount = 2);
            }
        }
    }

    [Theory]
    [InlineData("null")]
    [InlineData("\"\"")]
    public async Task Section_NullLimit_MeansNone(string value)
    {
        await using WebApplication application = Build(
            $$"""{ "IoUring": { "MaxReadBufferSize": {{value}}, "MaxWriteBufferSize": {{value}} } }""");

        IoUringTransportOptions options = OptionsOf(application);

        Assert.Equal((null, null), (options.MaxReadBufferSize, options.MaxWriteBufferSize));
    }

    [Theory]
    [InlineData("Backend", "Fast")]
    [InlineData("ApplicationScheduling", "Sometimes")]
    [InlineData("LoopCount", "many")]
    [InlineData("Advanced:RingEntries", "256.5")]
    [InlineData("MaxReadBufferSize", "1 MiB")]
    [InlineData("NoDelay", "maybe")]
    public async Task Section_ValueThatCannotBeRead_StopsTheStartNamingTheKey(string key, string value)
    {
        InvalidOperationException exception = await Assert.ThrowsAsync<InvalidOperationException>(() => StartAsync(key, value));

        Assert.Contains($"'{value}'", exception.Message, StringComparison.Ordinal);
        Assert.Contains($"'IoUring:{key}'", exception.Message, StringComparison.Ordinal);
    }

    [Theory]
    [InlineData("Backend", "7")]
    [InlineData("LoopCount", "0")]
    [InlineData("MaxBusyConnectionsPerLoop", "0")]
    [InlineData("Advanced:ReceiveBufferSize", "100")]
    [InlineData("MaxWriteBufferSize", "-1")]
    public async Task Section_ValueOutOfRange_StopsTheStartNamingTheOption(string key, string value)
    {
        OptionsValidationException exception = await Assert.ThrowsAsync<OptionsValidationException>(() => StartAsync(key, value));

        Assert.Contains($"IoUringTransportOptions.{key.Replace(':', '.')}:", exception.Message, StringComparison.Ordinal);
    }

    private static async Task StartAsync(string key, string value)
    {
        await using WebApplication application = Build($$"""{ "IoUring": { "{{key}}": "{{value}}" } }""");
        await application.StartAsync().InTime();
    }

    private static IoUringTransportOptions OptionsOf(WebApplication application) =>
        application.Services.GetRequiredService<IOptions<IoUringTransportOptions>>().Value;

    private static WebApplication Build(string configuration, Way way = Way.Builder, LogRecorder? log = null)
    {
        WebApplicationBuilder builder = WebApplication.CreateEmptyBuilder(new WebApplicationOptions());
        builder.Configuration.AddJsonStream(new MemoryStream(Encoding.UTF8.GetBytes(configuration)));
        builder.WebHost.UseKestrelCore().UseUrls("http://127.0.0.1:0");
        builder.WebHost.UseSockets(sockets => sockets.Backlog = 17);
        switch (way)
        {
            case Way.Builder:
                builder.WebHost.UseIoUring(builder.Configuration.GetSection("IoUring"));
                break;
            case Way.Services:
                builder.Services.AddIoUringTransport(builder.Configuration.GetSection("IoUring"));
                break;
            default:
                builder.WebHost.UseIoUring();
                builder.Services.Configure<IoUringTransportOptions>(builder.Configuration.GetSection("IoUring"));
                break;
        }

        if (log is not null)
        {
            builder.Logging.AddProvider(log);
        }

        return builder.Build();
    }
}
