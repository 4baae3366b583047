using System.Net;

namespace CachingService.Tests.Infrastructure;

/// <summary>HTTP/2 with prior knowledge over cleartext, with the target's bytes left alone.</summary>
internal sealed class Http2Client(string baseUrl) : IDisposable
{
    private readonly HttpMessageInvoker _invoker = new(
        new SocketsHttpHandler { UseProxy = false, AllowAutoRedirect = false, UseCookies = false });

    /// <summary>Returns when the headers have come.</summary>
    public Task<HttpResponseMessage> GetAsync(string target, HttpMethod? method = null, (string Name, string Value)[]? fields = null) =>
        SendAsync(target, method ?? HttpMethod.Get, content: null, fields);

    /// <summary>Returns when the headers have come.</summary>
    public async Task<HttpResponseMessage> SendAsync(
        string target, HttpMethod method, HttpContent? content = null, (string Name, string Value)[]? fields = null)
    {
        Uri url = new(baseUrl + target, new UriCreationOptions { DangerousDisablePathAndQueryCanonicalization = true });
        using HttpRequestMessage request = new(method, url)
        {
            Version = HttpVersion.Version20,
            VersionPolicy = HttpVersionPolicy.RequestVersionExact,
            Content = content,
        };
        foreach ((string name, string value) in fields ?? [])
        {
            request.Headers.TryAddWithoutValidation(name, value);
        }

        return await _invoker.SendAsync(request, TestContext.Current.CancellationToken).WaitAsync(Patience.Limit);
    }

    public void Dispose() => _invoker.Dispose();
}
