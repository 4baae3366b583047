using Grpc.Core;
using Grpc.Net.Client;
using IoUringCache.Transport.Tests.Kestrel;
using IoUringCache.Transport.Tests.Support;
using Microsoft.AspNetCore.Builder;
using Microsoft.Extensions.DependencyInjection;
using Protocol.Tests.Http2;

namespace Protocol.Tests.Streaming;

/// <summary>The service of <see cref="GrpcMethods"/> on a transport, by grpc-dotnet, and a client of it. Owned by its test; any thread.</summary>
internal sealed class GrpcHost : IAsyncDisposable
{
    private readonly KestrelHost _host;
    private readonly GrpcChannel _channel;
    private readonly TaskCompletionSource _aborted;

    private GrpcHost(KestrelHost host, TaskCompletionSource aborted)
    {
        (_host, _aborted) = (host, aborted);
        _channel = GrpcChannel.ForAddress(host.Address, new GrpcChannelOptions
        {
            HttpHandler = new SocketsHttpHandler { UseProxy = false },
            DisposeHttpClient = true,
        });
    }

    /// <summary>Ends when the server has seen the end of a call of <see cref="GrpcMethods.Wait"/>.</summary>
    internal Task Aborted => _aborted.Task;

    internal static async Task<GrpcHost> StartAsync(TransportKind kind)
    {
        TaskCompletionSource aborted = new(TaskCreationOptions.RunContinuationsAsynchronously);
        ServerServiceDefinition service = ServerServiceDefinition.CreateBuilder()
            .AddMethod(GrpcMethods.Reverse, ReverseAsync)
            .AddMethod(GrpcMethods.Wait, WaitAsync)
            .Build();
        KestrelHost host = await Http2Hosts.StartAsync(
            kind, secure: false, application => application.MapGrpcService(service), services => services.AddGrpc());
        return new(host, aborted);

        async Task WaitAsync(IAsyncStreamReader<byte[]> requests, IServerStreamWriter<byte[]> answers, ServerCallContext context)
        {
            TaskCompletionSource ended = new(TaskCreationOptions.RunContinuationsAsynchronously);
            await using CancellationTokenRegistration registration = context.CancellationToken.Register(ended.SetResult);
            await context.WriteResponseHeadersAsync([]);
            await ended.Task.InTime();
            aborted.TrySetResult();
        }
    }

    /// <param name="method">One of <see cref="GrpcMethods"/>.</param>
    /// <param name="limit">Time until the call's deadline.</param>
    internal AsyncDuplexStreamingCall<byte[], byte[]> Call(Method<byte[], byte[]> method, TimeSpan limit) =>
        _channel.CreateCallInvoker().AsyncDuplexStreamingCall(method, host: null, new CallOptions(deadline: DateTime.UtcNow + limit));

    public ValueTask DisposeAsync()
    {
        _channel.Dispose();
        return _host.DisposeAsync();
    }

    private static async Task ReverseAsync(IAsyncStreamReader<byte[]> requests, IServerStreamWriter<byte[]> answers, ServerCallContext context)
    {
        await foreach (byte[] message in requests.ReadAllAsync(context.CancellationToken))
        {
            message.AsSpan().Reverse();
            await answers.WriteAsync(message, context.CancellationToken);
        }
    }
}
