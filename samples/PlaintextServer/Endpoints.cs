using System.Globalization;
using System.IO.Pipelines;
using System.Net.Mime;
using Microsoft.AspNetCore.Http.HttpResults;

namespace PlaintextServer;

/// <summary>The endpoints, each one shape of traffic. Any thread; nothing is kept between requests.</summary>
internal static class Endpoints
{
    /// <summary>The largest body sent or taken, in bytes.</summary>
    public const long MaximumBytes = 1L << 30;

    private const int MaximumBlockMilliseconds = 60_000;

    /// <summary>
    /// What one write of <c>/bytes</c> hands to Kestrel: large enough to amortise the call, small enough for back-pressure to work.
    /// </summary>
    private const int WriteBytes = 64 * 1024;

    public static void Map(WebApplication app)
    {
        // Prepared results: a returned string would be sent chunked, and its framing would be measured with the transport.
        Utf8ContentHttpResult health = TypedResults.Text("OK"u8, MediaTypeNames.Text.Plain);
        Utf8ContentHttpResult plaintext = TypedResults.Text("Hello, World!"u8, MediaTypeNames.Text.Plain);
        app.MapGet("/health", () => health);
        app.MapGet("/plaintext", () => plaintext);
        app.MapGet("/json", () => new Message("Hello, World!"));
        app.MapGet("/bytes/{n}", SendBytesAsync);
        app.MapGet("/chunks/{n}/{size}", SendChunksAsync);
        app.MapGet("/block/{ms}", BlockAsync);
        app.MapPost("/echo", EchoAsync);
        app.MapPost("/sink", SinkAsync);
        app.MapPost("/hold", HoldAsync);
        app.MapPost("/collect", CollectAsync);
    }

    private static async Task SendBytesAsync(HttpContext context)
    {
        if (await ReadNumberAsync(context, "n", 0, MaximumBytes) is not { } count)
        {
            return;
        }

        context.Response.ContentType = MediaTypeNames.Application.Octet;
        context.Response.ContentLength = count;
        await WritePatternAsync(context, count, WriteBytes);
    }

    private static async Task SendChunksAsync(HttpContext context)
    {
        if (await ReadNumberAsync(context, "n", 0, MaximumBytes) is not { } count
            || await ReadNumberAsync(context, "size", 1, BytePattern.MaximumSlice) is not { } size)
        {
            return;
        }

        context.Response.ContentType = MediaTypeNames.Application.Octet;
        await WritePatternAsync(context, count, (int)size);
    }

    private static async Task BlockAsync(HttpContext context)
    {
        if (await ReadNumberAsync(context, "ms", 0, MaximumBlockMilliseconds) is not { } milliseconds)
        {
            return;
        }

        // Blocking the thread is what this endpoint is for: it shows what a handler that misbehaves does to the others.
        Thread.Sleep((int)milliseconds);
        await WriteTextAsync(context, string.Create(CultureInfo.InvariantCulture, $"blocked {milliseconds} ms"));
    }

    private static Task EchoAsync(HttpContext context)
    {
        context.Response.ContentType = context.Request.ContentType ?? MediaTypeNames.Application.Octet;
        context.Response.ContentLength = context.Request.ContentLength;
        return context.Request.BodyReader.CopyToAsync(context.Response.BodyWriter, context.RequestAborted);
    }

    private static async Task SinkAsync(HttpContext context)
    {
        PipeReader reader = context.Request.BodyReader;
        long count = 0;
        ReadResult result;
        do
        {
            result = await reader.ReadAsync(context.RequestAborted);
            count += result.Buffer.Length;
            reader.AdvanceTo(result.Buffer.End);
        }
        while (!result.IsCompleted);

        await WriteTextAsync(context, count.ToString(CultureInfo.InvariantCulture));
    }

    /// <summary>Reads nothing and ends with the connection: what the transport has received stays with it.</summary>
    private static Task HoldAsync(HttpContext context)
    {
        TaskCompletionSource ended = new(TaskCreationOptions.RunContinuationsAsynchronously);
        context.RequestAborted.UnsafeRegister(static ended => ((TaskCompletionSource)ended!).TrySetResult(), ended);
        return ended.Task;
    }

    /// <summary>For measurements of memory: what is left is in use, and what is not is the kernel's again.</summary>
    private static Task CollectAsync(HttpContext context)
    {
        GC.Collect(GC.MaxGeneration, GCCollectionMode.Aggressive, blocking: true, compacting: true);
        GC.WaitForPendingFinalizers();
        GC.Collect(GC.MaxGeneration, GCCollectionMode.Aggressive, blocking: true, compacting: true);
        return WriteTextAsync(context, GC.GetTotalMemory(forceFullCollection: false).ToString(CultureInfo.InvariantCulture));
    }

    private static async Task WritePatternAsync(HttpContext context, long count, int size)
    {
        PipeWriter writer = context.Response.BodyWriter;
        for (long offset = 0; offset < count; offset += size)
        {
            FlushResult flushed = await writer.WriteAsync(
                BytePattern.Slice(offset, (int)Math.Min(size, count - offset)), context.RequestAborted);
            if (flushed.IsCompleted)
            {
                return;
            }
        }
    }

    /// <summary>The route value as a number; where it is none, or out of range, answers 400 and returns null.</summary>
    private static async ValueTask<long?> ReadNumberAsync(HttpContext context, string name, long minimum, long maximum)
    {
        string? text = context.Request.RouteValues[name] as string;
        if (long.TryParse(text, NumberStyles.None, CultureInfo.InvariantCulture, out long number) && number >= minimum && number <= maximum)
        {
            return number;
        }

        context.Response.StatusCode = StatusCodes.Status400BadRequest;
        await WriteTextAsync(context, string.Create(CultureInfo.InvariantCulture, $"{name}: expected a whole number from {minimum} to {maximum}"));
        return null;
    }

    private static Task WriteTextAsync(HttpContext context, string text)
    {
        context.Response.ContentType = MediaTypeNames.Text.Plain;
        context.Response.ContentLength = text.Length;
        return context.Response.WriteAsync(text, context.RequestAborted);
    }
}
