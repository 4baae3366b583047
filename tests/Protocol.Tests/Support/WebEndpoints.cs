using System.IO.Pipelines;
using System.Security.Cryptography;
using IoUringCache.Transport.Tests.Support;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Http;

namespace Protocol.Tests.Support;

/// <summary>What most clients of these tests talk to. Bodies are <see cref="Payload"/>, so a client can check every byte.</summary>
internal static class WebEndpoints
{
    internal static void Map(WebApplication application)
    {
        application.MapMethods("/bytes/{n}", [HttpMethods.Get, HttpMethods.Head], SendBytesAsync);
        application.MapGet("/chunks/{n}/{size}", SendChunksAsync);
        application.MapMethods("/digest", [HttpMethods.Put, HttpMethods.Post], DigestAsync);
        application.MapPost("/echo", EchoAsync);
        application.MapGet("/header", (HttpContext context) =>
        {
            context.Response.Headers["x-echo"] = context.Request.Headers["x-big"];
            return Results.Text("ok");
        });
        application.MapGet("/connection", (HttpContext context) => Results.Text(context.Connection.Id));
        application.MapGet("/protocol", (HttpContext context) => Results.Text(context.Request.Protocol));
    }

    /// <summary>What <c>/digest</c> answers to this body.</summary>
    internal static string DigestOf(byte[] body) => $"{body.Length} {Convert.ToHexStringLower(SHA256.HashData(body))}";

    private static async Task SendBytesAsync(HttpContext context)
    {
        byte[] body = Payload.Of(int.Parse((string)context.Request.RouteValues["n"]!, null));
        context.Response.ContentLength = body.Length;
        if (HttpMethods.IsGet(context.Request.Method))
        {
            await context.Response.Body.WriteAsync(body, context.RequestAborted);
        }
    }

    private static async Task SendChunksAsync(HttpContext context, int n, int size)
    {
        foreach (byte[] chunk in Payload.Of(n).Chunk(size))
        {
            await context.Response.Body.WriteAsync(chunk, context.RequestAborted);
            await context.Response.Body.FlushAsync(context.RequestAborted);
        }
    }

    private static async Task DigestAsync(HttpContext context)
    {
        using IncrementalHash hash = IncrementalHash.CreateHash(HashAlgorithmName.SHA256);
        PipeReader reader = context.Request.BodyReader;
        long count = 0;
        while (true)
        {
            ReadResult read = await reader.ReadAsync(context.RequestAborted);
            foreach (ReadOnlyMemory<byte> segment in read.Buffer)
            {
                hash.AppendData(segment.Span);
            }

            count += read.Buffer.Length;
            reader.AdvanceTo(read.Buffer.End);
            if (read.IsCompleted)
            {
                await context.Response.WriteAsync($"{count} {Convert.ToHexStringLower(hash.GetHashAndReset())}");
                return;
            }
        }
    }

    private static Task EchoAsync(HttpContext context) => context.Request.BodyReader.CopyToAsync(context.Response.BodyWriter, context.RequestAborted);
}
