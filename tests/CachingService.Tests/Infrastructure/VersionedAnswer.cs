using System.Text;

namespace CachingService.Tests.Infrastructure;

/// <summary>An answer whose head has come, in whichever version; exactly one of the two is set.</summary>
internal sealed record VersionedAnswer(HttpResponseMessage? Http2, RawResponse? Raw, Func<Task<(string Body, bool IsWhole)>>? ReadRawAsync)
{
    public int Status => Raw?.Status ?? (int)Http2!.StatusCode;

    public string? this[string name] => Raw is not null ? Raw[name]
        : Http2!.Headers.TryGetValues(name, out IEnumerable<string>? values) || Http2.Content.Headers.TryGetValues(name, out values)
            ? string.Join(", ", values)
            : null;

    /// <summary>What comes of the body, and whether it has an end that a client can rely on.</summary>
    public async Task<(string Body, bool IsWhole)> ReadAsync()
    {
        if (Http2 is null)
        {
            return await ReadRawAsync!();
        }

        using HttpResponseMessage response = Http2;
        StringBuilder body = new();
        try
        {
            await using Stream stream = await response.Content.ReadAsStreamAsync(TestContext.Current.CancellationToken);
            byte[] bytes = new byte[65536];
            while (await stream.ReadAsync(bytes, TestContext.Current.CancellationToken).AsTask().WaitAsync(Patience.Limit) is var count and > 0)
            {
                body.Append(Encoding.Latin1.GetString(bytes, 0, count));
            }

            return (body.ToString(), true);
        }
        catch (IOException)
        {
            return (body.ToString(), false);
        }
    }
}
