using System.Net;
using System.Net.WebSockets;
using System.Text.Json;
using IoUringCache.Transport.Tests.Support;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Http.Connections;

namespace Protocol.Tests.SignalR;

/// <summary>
/// Connects a <c>HubConnection</c> by one transport. The package that does this for applications is not in every feed that this
/// builds from; the hub connection itself, its protocol and its reconnecting are the real ones.
/// </summary>
internal sealed class HubLinkFactory(HttpClient client, HttpTransportType transport) : IConnectionFactory
{
    public async ValueTask<ConnectionContext> ConnectAsync(EndPoint endpoint, CancellationToken cancellationToken = default)
    {
        Uri hub = ((UriEndPoint)endpoint).Uri;
        using HttpResponseMessage response = await client.PostAsync(new Uri($"{hub}/negotiate?negotiateVersion=1"), null, cancellationToken);
        using JsonDocument answer = JsonDocument.Parse(await response.EnsureSuccessStatusCode().Content.ReadAsStringAsync(cancellationToken));
        string token = answer.RootElement.GetProperty("connectionToken").GetString()!;
        HubLink link = await OpenAsync(new Uri($"{hub}?id={Uri.EscapeDataString(token)}"), cancellationToken).InTime();
        link.Start();
        return link;
    }

    private async Task<HubLink> OpenAsync(Uri address, CancellationToken cancellation)
    {
        switch (transport)
        {
            case HttpTransportType.WebSockets:
                ClientWebSocket socket = new();
                await socket.ConnectAsync(new UriBuilder(address) { Scheme = "ws" }.Uri, cancellation);
                return new WebSocketHubLink(socket);
            case HttpTransportType.ServerSentEvents:
                using (HttpRequestMessage request = new(HttpMethod.Get, address))
                {
                    request.Headers.Accept.ParseAdd("text/event-stream");
                    HttpResponseMessage response = await client.SendAsync(request, HttpCompletionOption.ResponseHeadersRead, cancellation);
                    return new ServerSentEventHubLink(client, address, await response.EnsureSuccessStatusCode().Content.ReadAsStreamAsync(cancellation));
                }

            default:
                // The first poll is answered at once, and makes the connection.
                using (HttpResponseMessage first = await client.GetAsync(address, cancellation))
                {
                    first.EnsureSuccessStatusCode();
                    return new LongPollingHubLink(client, address);
                }
        }
    }
}
