using System.Buffers;
using System.IO.Pipelines;
using System.Net.ServerSentEvents;
using System.Text;

namespace Protocol.Tests.SignalR;

/// <summary>A hub by server-sent events: one response that goes on, and a request for each message to the server.</summary>
internal sealed class ServerSentEventHubLink(HttpClient client, Uri address, Stream events) : HubLink
{
    protected override async Task ReceiveAsync(PipeWriter writer, CancellationToken cancellation)
    {
        await foreach (SseItem<string> item in SseParser.Create(events).EnumerateAsync(cancellation))
        {
            await writer.WriteAsync(Encoding.UTF8.GetBytes(item.Data), cancellation);
        }
    }

    protected override async Task SendAsync(ReadOnlySequence<byte> data, CancellationToken cancellation)
    {
        using ByteArrayContent content = new(data.ToArray());
        using HttpResponseMessage response = await client.PostAsync(address, content, cancellation);
        response.EnsureSuccessStatusCode();
    }

    protected override ValueTask CloseAsync() => events.DisposeAsync();
}
