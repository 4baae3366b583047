using System.Buffers;
using System.IO.Pipelines;
using System.Net;

namespace Protocol.Tests.SignalR;

/// <summary>A hub by long polling: a request that the server holds until it has something to say, again and again.</summary>
internal sealed class LongPollingHubLink(HttpClient client, Uri address) : HubLink
{
    protected override async Task ReceiveAsync(PipeWriter writer, CancellationToken cancellation)
    {
        while (true)
        {
            using HttpResponseMessage poll = await client.GetAsync(address, cancellation);
            if (poll.EnsureSuccessStatusCode().StatusCode == HttpStatusCode.NoContent)
            {
                return;
            }

            await poll.Content.CopyToAsync(writer.AsStream(leaveOpen: true), cancellation);
            await writer.FlushAsync(cancellation);
        }
    }

    protected override async Task SendAsync(ReadOnlySequence<byte> data, CancellationToken cancellation)
    {
        using ByteArrayContent content = new(data.ToArray());
        using HttpResponseMessage response = await client.PostAsync(address, content, cancellation);
        response.EnsureSuccessStatusCode();
    }

    protected override async ValueTask CloseAsync()
    {
        try
        {
            using HttpResponseMessage response = await client.DeleteAsync(address);
        }
        catch (HttpRequestException)
        {
            // The server has gone first.
        }
    }
}
