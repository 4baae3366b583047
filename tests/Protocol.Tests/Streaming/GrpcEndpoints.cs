using IoUringCache.Transport.Tests.Support;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Http;

namespace Protocol.Tests.Streaming;

/// <summary>A service as gRPC has it on the wire, without code that somebody generated.</summary>
internal static class GrpcEndpoints
{
    internal const string MediaType = "application/grpc";
    internal const string Reverse = "/test.Test/Reverse";
    internal const string Wait = "/test.Test/Wait";

    /// <summary>Answers each message with its bytes in reverse.</summary>
    internal static void MapReverse(WebApplication application) => application.MapPost(Reverse, async (HttpContext context) =>
    {
        await StartAsync(context.Response);
        int count = 0;
        while (await GrpcFrames.ReadAsync(context.Request.BodyReader, context.RequestAborted) is { } message)
        {
            message.AsSpan().Reverse();
            GrpcFrames.Write(context.Response.BodyWriter, message);
            await context.Response.BodyWriter.FlushAsync(context.RequestAborted);
            count++;
        }

        context.Response.AppendTrailer("grpc-status", "0");
        context.Response.AppendTrailer("x-count", $"{count}");
    });

    /// <summary>Answers with a head and nothing else, until the client gives the call up. A client may try again with another call.</summary>
    internal static void MapWait(WebApplication application, TaskCompletionSource aborted) => application.MapPost(Wait, async (HttpContext context) =>
    {
        TaskCompletionSource ended = new(TaskCreationOptions.RunContinuationsAsynchronously);
        using CancellationTokenRegistration registration = context.RequestAborted.Register(ended.SetResult);
        await StartAsync(context.Response);
        await ended.Task.InTime();
        aborted.TrySetResult();
    });

    private static async Task StartAsync(HttpResponse response)
    {
        response.ContentType = MediaType;
        await response.BodyWriter.FlushAsync();
    }
}
