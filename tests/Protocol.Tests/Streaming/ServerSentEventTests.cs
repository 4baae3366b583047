using System.Net.ServerSentEvents;
using System.Runtime.CompilerServices;
using System.Threading.Channels;
using IoUringCache.Transport.Tests.Kestrel;
using IoUringCache.Transport.Tests.Support;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Http;

namespace Protocol.Tests.Streaming;

/// <summary>Server-sent events: a response that never ends by itself, one flush for each event.</summary>
public sealed class ServerSentEventTests
{
    public static TheoryData<TransportKind> All => Transports.All;

    [Theory]
    [MemberData(nameof(All))]
    public async Task Events_SentOneByOne_ArriveBeforeTheNextIsSent(TransportKind kind)
    {
        Channel<string> events = Channel.CreateUnbounded<string>();
        await using KestrelHost host = await KestrelHost.StartAsync(kind, application => Map(application, events));
        using HttpClient client = host.CreateClient();
        using HttpResponseMessage response = await StartAsync(client, events);
        Assert.Equal("text/event-stream", response.Content.Headers.ContentType?.MediaType);
        await using Stream body = await response.Content.ReadAsStreamAsync().InTime();
        await using IAsyncEnumerator<SseItem<string>> received = SseParser.Create(body).EnumerateAsync().GetAsyncEnumerator();
        Assert.True(await received.MoveNextAsync().InTime());
        Assert.Equal("first", received.Current.Data);
        for (int i = 0; i < 300; i++)
        {
            string text = new((char)('a' + (i % 26)), i);
            await events.Writer.WriteAsync(text).InTime();
            Assert.True(await received.MoveNextAsync().InTime());
            Assert.Equal(("tick", text), (received.Current.EventType, received.Current.Data));
        }

        events.Writer.Complete();
        Assert.False(await received.MoveNextAsync().InTime());
    }

    [Theory]
    [MemberData(nameof(All))]
    public async Task Client_ThatLeaves_EndsTheStreamOnTheServer(TransportKind kind)
    {
        Channel<string> events = Channel.CreateUnbounded<string>();
        TaskCompletionSource ended = new(TaskCreationOptions.RunContinuationsAsynchronously);
        await using KestrelHost host = await KestrelHost.StartAsync(kind, application => Map(application, events, ended));
        using HttpClient client = host.CreateClient();
        using HttpResponseMessage response = await StartAsync(client, events);
        await using Stream body = await response.Content.ReadAsStreamAsync().InTime();
        byte[] buffer = new byte[1000];
        Assert.NotEqual(0, await body.ReadAsync(buffer).InTime());
        using CancellationTokenSource leaving = new();
        ValueTask<int> reading = body.ReadAsync(buffer, leaving.Token);
        Assert.False(ended.Task.IsCompleted);
        await leaving.CancelAsync();
        await Assert.ThrowsAnyAsync<OperationCanceledException>(() => reading.InTime());
        await ended.Task.InTime();
    }

    /// <summary>The head of the response comes with the first event.</summary>
    private static async Task<HttpResponseMessage> StartAsync(HttpClient client, Channel<string> events)
    {
        await events.Writer.WriteAsync("first").InTime();
        HttpResponseMessage response = await client.GetAsync("/events", HttpCompletionOption.ResponseHeadersRead).InTime();
        response.EnsureSuccessStatusCode();
        return response;
    }

    private static void Map(WebApplication application, Channel<string> events, TaskCompletionSource? ended = null) =>
        application.MapGet("/events", (HttpContext context) => TypedResults.ServerSentEvents(
            ReadAsync(events.Reader, ended, context.RequestAborted), eventType: "tick"));

    private static async IAsyncEnumerable<string> ReadAsync(
        ChannelReader<string> events, TaskCompletionSource? ended, [EnumeratorCancellation] CancellationToken cancellation)
    {
        try
        {
            await foreach (string text in events.ReadAllAsync(cancellation))
            {
                yield return text;
            }
        }
        finally
        {
            ended?.TrySetResult();
        }
    }
}
