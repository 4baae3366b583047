namespace IoUringCache.Caching.Tests;

/// <summary>Short forms for requests.</summary>
internal static class ClientExtensions
{
    /// <summary>Sends a GET and returns at its headers.</summary>
    public static Task<HttpResponseMessage> BeginAsync(this HttpClient client, string target, params (string Name, string Value)[] fields)
    {
        HttpRequestMessage request = new(HttpMethod.Get, target);
        foreach ((string name, string value) in fields)
        {
            request.Headers.TryAddWithoutValidation(name, value);
        }

        return client.SendAsync(request, HttpCompletionOption.ResponseHeadersRead).WaitAsync(Patience.Limit);
    }

    /// <summary>Status, Cache-Status without its lifetime, and body.</summary>
    public static async Task<(int Status, string Found, string Body)> FetchAsync(
        this HttpClient client, string target, params (string Name, string Value)[] fields)
    {
        using HttpResponseMessage response = await client.BeginAsync(target, fields);
        return ((int)response.StatusCode, response.CacheStatus, await response.Content.ReadAsStringAsync().WaitAsync(Patience.Limit));
    }

    extension(HttpResponseMessage response)
    {
        /// <summary>Of the last cache, up to its first parameter with a number; empty where there is none.</summary>
        public string CacheStatus => response.Headers.TryGetValues("Cache-Status", out IEnumerable<string>? values)
            ? values.Last().Split("; ttl=")[0]
            : "";
    }

    /// <summary>Exactly so many bytes as text.</summary>
    public static async Task<string> ReadTextAsync(this Stream stream, int count)
    {
        byte[] bytes = new byte[count];
        await stream.ReadExactlyAsync(bytes).AsTask().WaitAsync(Patience.Limit);
        return System.Text.Encoding.Latin1.GetString(bytes);
    }

    /// <summary>All that comes yet, as text.</summary>
    public static async Task<string> ReadRestAsync(this HttpResponseMessage response)
    {
        using StreamReader reader = new(await response.Content.ReadAsStreamAsync(), System.Text.Encoding.Latin1);
        return await reader.ReadToEndAsync().WaitAsync(Patience.Limit);
    }
}
