using System.Text;
using IoUringCache.Transport.Tests.Support;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Hosting;
using Microsoft.Extensions.Configuration;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Options;

namespace IoUringCache.Transport.Tests.Kestrel;

/// <summary>The options out of a section of the application's configuration, as the package's README shows it.</summary>
public sealed class ConfigurationTests
{
    [Fact]
    public async Task Section_WithEveryOption_SetsEachOne()
    {
        await using WebApplication application = Build(
            """
            { "IoUring": {
                "Backend": "Sockets", "ApplicationScheduling": "inline", "LoopCount": 3,
                "MaxReadBufferSize": 5, "MaxWriteBufferSize": 6, "Backlog": 7, "NoDelay": false, "MaxBusyConnectionsPerLoop": 9,
                "ConnectTimeout": "00:00:10", "KeepAliveTime": "00:01:00",
                "Advanced": { "RingEntries": 64, "ReceiveBufferCount": 128, "ReceiveBufferSize": 1024 } } }
            """);

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

    private static WebApplication Build(string configuration)
    {
        WebApplicationBuilder builder = WebApplication.CreateEmptyBuilder(new WebApplicationOptions());
        builder.Configuration.AddJsonStream(new MemoryStream(Encoding.UTF8.GetBytes(configuration)));
        builder.WebHost.UseKestrelCore();
        builder.WebHost.UseSockets(sockets => sockets.Backlog = 17);
        builder.WebHost.UseIoUring();
        builder.Services.Configure<IoUringTransportOptions>(builder.Configuration.GetSection("IoUring"));
        return builder.Build();
    }
}
