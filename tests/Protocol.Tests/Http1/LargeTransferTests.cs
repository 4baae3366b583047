using System.Globalization;
using IoUringCache.Transport.Tests.Support;
using Protocol.Tests.Support;

namespace Protocol.Tests.Http1;

/// <summary>A gibibyte each way, through a server that may not grow by it.</summary>
public sealed class LargeTransferTests
{
    private const long Length = 1L << 30;
    private const int Period = 251;
    private const long GrowthLimit = 64L << 20;

    /// <summary>Loopback moves this in a few seconds; a machine that is busy with other things gets longer.</summary>
    private static readonly TimeSpan s_limit = TimeSpan.FromSeconds(90);

    public static TheoryData<TransportKind> IoUring => Transports.IoUring;

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Download_Of1GiB_IsExactAndTakesNoMemory(TransportKind kind)
    {
        await using ServerProcess server = await ServerProcess.StartAsync(kind);
        using HttpClient client = await WarmUpAsync(server);
        long before = server.ResidentBytes;
        await DownloadAsync(client).WaitAsync(s_limit);
        AssertFlat(server, before);
    }

    [Theory]
    [MemberData(nameof(IoUring))]
    public async Task Upload_Of1GiB_IsCountedAndTakesNoMemory(TransportKind kind)
    {
        await using ServerProcess server = await ServerProcess.StartAsync(kind);
        using HttpClient client = await WarmUpAsync(server);
        long before = server.ResidentBytes;
        Assert.Equal($"{Length}", await UploadAsync(client, Length).WaitAsync(s_limit));
        AssertFlat(server, before);
    }

    private static async Task<HttpClient> WarmUpAsync(ServerProcess server)
    {
        HttpClient client = new() { BaseAddress = server.Address, Timeout = s_limit };
        Assert.Equal("1000000", await UploadAsync(client, 1_000_000).WaitAsync(s_limit));
        await client.GetByteArrayAsync("/bytes/1000000").InTime();
        return client;
    }

    private static async Task DownloadAsync(HttpClient client)
    {
        byte[] pattern = [.. Enumerable.Range(0, (1 << 20) + Period).Select(i => (byte)(i % Period))];
        byte[] buffer = new byte[1 << 20];
        await using Stream body = await client.GetStreamAsync($"/bytes/{Length}");
        long total = 0;
        for (int count; (count = await body.ReadAsync(buffer)) != 0; total += count)
        {
            Assert.True(
                buffer.AsSpan(0, count).SequenceEqual(pattern.AsSpan((int)(total % Period), count)),
                $"The {count} bytes from {total} on are not the pattern.");
        }

        Assert.Equal(Length, total);
    }

    private static async Task<string> UploadAsync(HttpClient client, long length)
    {
        using StreamContent content = new(new ZeroStream(length), 1 << 20);

        // The limit on a body in chunks would count their framing too.
        content.Headers.ContentLength = length;
        using HttpResponseMessage response = await client.PostAsync("/sink", content);
        return await response.EnsureSuccessStatusCode().Content.ReadAsStringAsync();
    }

    private static void AssertFlat(ServerProcess server, long before)
    {
        long growth = server.PeakResidentBytes - before;
        Assert.True(growth < GrowthLimit, string.Create(CultureInfo.InvariantCulture, $"The server grew by {growth:N0} bytes, from {before:N0}."));
    }
}
