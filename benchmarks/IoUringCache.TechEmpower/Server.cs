using IoUringCache.Transport;

namespace IoUringCache.TechEmpower;

/// <summary>Builds the application that the options ask for.</summary>
internal static class Server
{
    public static WebApplication Build(CommandLine options, Action<ILoggingBuilder> configureLogging)
    {
        // Not given the arguments: the host would read them a second time, by looser rules.
        WebApplicationBuilder builder = WebApplication.CreateSlimBuilder();
        configureLogging(builder.Logging);
        builder.WebHost.UseUrls(options.Urls);
        if (options.Application == ApplicationForm.Platform)
        {
            // In front of Kestrel's HTTP, which is then never called.
            builder.WebHost.ConfigureKestrel(kestrel => kestrel.ConfigureEndpointDefaults(
                endPoint => endPoint.Use(_ => PlatformApplication.ServeAsync)));
        }

        bool isInline = options.Scheduling == ApplicationScheduling.Inline;
        builder.WebHost.UseSockets(sockets =>
        {
            sockets.UnsafePreferInlineScheduling = isInline;
            sockets.WaitForDataBeforeAllocatingBuffer = !isInline;
        });
        builder.WebHost.UseIoUring(transport =>
        {
            transport.Backend = options.Transport;
            transport.ApplicationScheduling = options.Scheduling;
        });

        WebApplication application = builder.Build();
        MinimalApplication.Map(application);
        return application;
    }
}
