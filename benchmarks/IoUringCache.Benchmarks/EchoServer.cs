using System.Buffers;
using System.Collections.Concurrent;
using System.IO.Pipelines;
using System.Net;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Connections;
using Microsoft.Extensions.DependencyInjection;
using Microsoft.Extensions.Logging;

namespace IoUringCache.Benchmarks;

/// <summary>
/// Sends back what comes, on the connections of a transport and without Kestrel: it accepts them from the transport's own listener. Owned
/// by its load.
/// </summary>
internal sealed class EchoServer : IAsyncDisposable
{
    private readonly WebApplication _services;
    private readonly IConnectionListener _listener;
    private readonly ConcurrentBag<Task> _connections = [];
    private readonly Task _accepting;

    private EchoServer(WebApplication services, IConnectionListener listener)
    {
        _services = services;
        _listener = listener;
        _accepting = AcceptAsync();
    }

    public IPEndPoint EndPoint => (IPEndPoint)_listener.EndPoint;

    /// <exception cref="PlatformNotSupportedException">io_uring was asked for and is not available.</exception>
    public static async Task<EchoServer> StartAsync(Contestant contestant)
    {
        // Never started: it is only what makes the transport out of its options.
        WebApplicationBuilder builder = WebApplication.CreateEmptyBuilder(new WebApplicationOptions());
        builder.Logging.ClearProviders();
        contestant.Configure(builder.WebHost);
        WebApplication services = builder.Build();

        // The one that was added last, as Kestrel chooses.
        IConnectionListenerFactory transport = services.Services.GetServices<IConnectionListenerFactory>().Last();
        return new EchoServer(services, await transport.BindAsync(new IPEndPoint(IPAddress.Loopback, 0)));
    }

    public async ValueTask DisposeAsync()
    {
        await _listener.UnbindAsync();
        await _accepting;
        await Task.WhenAll(_connections);
        await _listener.DisposeAsync();
        await _services.DisposeAsync();
    }

    private async Task AcceptAsync()
    {
        while (await _listener.AcceptAsync() is { } connection)
        {
            _connections.Add(ServeAsync(connection));
        }
    }

    private static async Task ServeAsync(ConnectionContext connection)
    {
        await using ConnectionContext owned = connection;
        PipeReader input = connection.Transport.Input;
        PipeWriter output = connection.Transport.Output;
        ReadResult read;
        do
        {
            read = await input.ReadAsync();
            foreach (ReadOnlyMemory<byte> segment in read.Buffer)
            {
                output.Write(segment.Span);
            }

            input.AdvanceTo(read.Buffer.End);
            await output.FlushAsync();
        }
        while (!read.IsCompleted);
    }
}
