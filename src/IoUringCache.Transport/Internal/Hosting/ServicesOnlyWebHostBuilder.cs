using Microsoft.AspNetCore.Hosting;
using Microsoft.Extensions.Configuration;
using Microsoft.Extensions.DependencyInjection;

namespace IoUringCache.Transport.Internal.Hosting;

/// <summary>
/// Lets <c>UseSockets</c>, which needs an <see cref="IWebHostBuilder"/>, add Kestrel's internal services to a
/// collection. One thread, for one call.
/// </summary>
internal sealed class ServicesOnlyWebHostBuilder(IServiceCollection services) : IWebHostBuilder
{
    public IWebHostBuilder ConfigureServices(Action<IServiceCollection> configureServices)
    {
        configureServices(services);
        return this;
    }

    public IWebHostBuilder ConfigureServices(Action<WebHostBuilderContext, IServiceCollection> configureServices) => throw new NotSupportedException();

    public IWebHostBuilder ConfigureAppConfiguration(Action<WebHostBuilderContext, IConfigurationBuilder> configureDelegate) =>
        throw new NotSupportedException();

#pragma warning disable ASPDEPR008 // IWebHost is obsolete, and a member of the interface.
    public IWebHost Build() => throw new NotSupportedException();
#pragma warning restore ASPDEPR008

    public string? GetSetting(string key) => throw new NotSupportedException();

    public IWebHostBuilder UseSetting(string key, string? value) => throw new NotSupportedException();
}
