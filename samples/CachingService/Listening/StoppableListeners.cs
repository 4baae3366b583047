using System.Collections.Concurrent;
using System.Net;
using Microsoft.AspNetCore.Connections;

namespace CachingService.Listening;

/// <summary>
/// The listeners of one application, which stop accepting before the server stops: the server would close idle connections in the same moment. Any
/// thread; owned by the application's services.
/// </summary>
/// <param name="transport">Binds them.</param>
internal sealed class StoppableListeners(IConnectionListenerFactory transport) : IConnectionListenerFactory, IConnectionListenerFactorySelector
{
    private readonly ConcurrentBag<IConnectionListener> _listeners = [];

    /// <summary>Wraps the transport that was added last, which serves.</summary>
    public static void Add(IServiceCollection services)
    {
        ServiceDescriptor transport = services.Last(static service => service.ServiceType == typeof(IConnectionListenerFactory));
        services.AddSingleton(provider =>
            new StoppableListeners((IConnectionListenerFactory)ActivatorUtilities.CreateInstance(provider, transport.ImplementationType!)));
        services.AddSingleton<IConnectionListenerFactory>(static provider => provider.GetRequiredService<StoppableListeners>());
    }

    public bool CanBind(EndPoint endpoint) => transport is not IConnectionListenerFactorySelector selector || selector.CanBind(endpoint);

    public async ValueTask<IConnectionListener> BindAsync(EndPoint endpoint, CancellationToken cancellationToken = default)
    {
        IConnectionListener listener = await transport.BindAsync(endpoint, cancellationToken);
        _listeners.Add(listener);
        return listener;
    }

    /// <summary>Accepts nothing more. The server takes what was accepted, and unbinds once more when it stops, which does nothing.</summary>
    public Task StopAcceptingAsync() => Task.WhenAll(_listeners.Select(static listener => listener.UnbindAsync().AsTask()));
}
