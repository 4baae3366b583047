using System.Net;
using Microsoft.AspNetCore.Connections;

namespace CachingService.Listening;

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
