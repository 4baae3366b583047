using System.Collections.Concurrent;
using System.Net;
using Microsoft.AspNetCore.Connections;

namespace CachingService.Listening;

/// <summary>
/// The listeners of one application. They can begin to accept after the server has started, while another process still accepts on their sockets, and
/// stop before the server stops, which would close idle connections in the same moment. Any thread; owned by the application's services.
/// </summary>
/// <param name="isHeld">Whether they wait for <see cref="BeginAsync"/>.</param>
internal sealed class AcceptGate(IConnectionListenerFactory transport, ListenSockets sockets, bool isHeld)
    : IConnectionListenerFactory, IConnectionListenerFactorySelector
{
    private readonly ConcurrentQueue<IConnectionListener> _listeners = new();

    /// <summary>Wraps the transport that was added last, which serves.</summary>
    public static void Add(IServiceCollection services, ListenSockets sockets, bool isHeld)
    {
        ServiceDescriptor transport = services.Last(static service => service.ServiceType == typeof(IConnectionListenerFactory));
        services.AddSingleton(provider => new AcceptGate(
            (IConnectionListenerFactory)ActivatorUtilities.CreateInstance(provider, transport.ImplementationType!), sockets, isHeld));
        services.AddSingleton<IConnectionListenerFactory>(static provider => provider.GetRequiredService<AcceptGate>());
    }

    public bool CanBind(EndPoint endpoint) => transport is not IConnectionListenerFactorySelector selector || selector.CanBind(endpoint);

    public async ValueTask<IConnectionListener> BindAsync(EndPoint endpoint, CancellationToken cancellationToken = default)
    {
        IConnectionListener listener;
        if (isHeld)
        {
            if (_listeners.IsEmpty)
            {
                // What keeps the transport from serving keeps this process from starting, and not from accepting later.
                await using IConnectionListener trial = await transport.BindAsync(new IPEndPoint(IPAddress.Loopback, 0), cancellationToken);
            }

            listener = new HeldListener(transport, sockets.Prepare(endpoint));
        }
        else
        {
            listener = await transport.BindAsync(endpoint, cancellationToken);
        }

        _listeners.Enqueue(listener);
        return listener;
    }

    /// <summary>Accepts from now on, where it was held.</summary>
    public Task BeginAsync() => Task.WhenAll(_listeners.OfType<HeldListener>().Select(static listener => listener.BeginAsync()));

    /// <summary>Accepts nothing more. The server takes what was accepted, and unbinds once more when it stops, which does nothing.</summary>
    public async Task StopAsync()
    {
        foreach (IConnectionListener listener in _listeners)
        {
            await listener.UnbindAsync();
            sockets.DeletePath(listener.EndPoint);
        }
    }
}

/// <summary>A listener whose socket is open, and that leaves accepting to another process until it begins. Any thread; owned by Kestrel.</summary>
/// <param name="endPoint">Where the socket is bound, a port of 0 resolved.</param>
internal sealed class HeldListener(IConnectionListenerFactory transport, EndPoint endPoint) : IConnectionListener
{
    /// <summary>The transport's listener; <see langword="null"/> if this one was unbound before it began.</summary>
    private readonly TaskCompletionSource<IConnectionListener?> _begun = new(TaskCreationOptions.RunContinuationsAsynchronously);

    public EndPoint EndPoint => endPoint;

    /// <summary>Not after <see cref="UnbindAsync"/>, and once.</summary>
    public async Task BeginAsync() => _begun.SetResult(await transport.BindAsync(endPoint));

    public async ValueTask<ConnectionContext?> AcceptAsync(CancellationToken cancellationToken = default) =>
        await _begun.Task.WaitAsync(cancellationToken) is { } listener ? await listener.AcceptAsync(cancellationToken) : null;

    public async ValueTask UnbindAsync(CancellationToken cancellationToken = default)
    {
        _begun.TrySetResult(null);
        if (await _begun.Task is { } listener)
        {
            await listener.UnbindAsync(cancellationToken);
        }
    }

    public async ValueTask DisposeAsync()
    {
        _begun.TrySetResult(null);
        if (await _begun.Task is { } listener)
        {
            await listener.DisposeAsync();
        }
    }
}
