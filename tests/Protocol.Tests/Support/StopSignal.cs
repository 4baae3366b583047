using Microsoft.AspNetCore.Connections.Features;
using Microsoft.AspNetCore.Server.Kestrel.Core;

namespace Protocol.Tests.Support;

/// <summary>Tells a test when Kestrel, at a graceful stop, has cancelled the read of an open connection. Any thread; owned by the test.</summary>
internal sealed class StopSignal
{
    private readonly TaskCompletionSource _asked = new(TaskCreationOptions.RunContinuationsAsynchronously);

    /// <summary>Ends when a connection has been asked to end.</summary>
    internal Task Asked => _asked.Task;

    /// <summary>Watches the connections of an end point.</summary>
    internal void Watch(ListenOptions endPoint) => endPoint.Use(next => connection =>
    {
        // The callbacks of a token run in the reverse order of their registration: Kestrel's own, registered later, runs before this one.
        connection.Features.Get<IConnectionLifetimeNotificationFeature>()!.ConnectionClosedRequested.Register(() => _asked.TrySetResult());
        return next(connection);
    });
}
