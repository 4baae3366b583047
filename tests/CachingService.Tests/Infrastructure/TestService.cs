using IoUringCache.Caching.Http;
using Microsoft.AspNetCore.Http;
using Microsoft.Extensions.Logging;

namespace CachingService.Tests.Infrastructure;

/// <summary>A whole service on loopback ports of its own, in front of a scripted origin.</summary>
internal sealed class TestService : IAsyncDisposable
{
    private TestService(CachingServiceHost host, FakeTime time, LogLines log) => (Host, Time, Log) = (host, time, log);

    public CachingServiceHost Host { get; }

    public FakeTime Time { get; }

    public LogLines Log { get; }

    public string Url => Host.Url;

    /// <summary>IOURING_REQUIRED=1 runs the service on io_uring or fails; otherwise it takes what the machine offers.</summary>
    public static string Transport => Environment.GetEnvironmentVariable("IOURING_REQUIRED") == "1" ? "IoUring" : "Auto";

    public static Task<TestService> StartAsync(string originUrl, params string[] options) =>
        StartAsync(originUrl, TimeSpan.FromSeconds(1), options);

    public static async Task<TestService> StartAsync(string originUrl, TimeSpan drain, params string[] options)
    {
        (FakeTime time, LogLines log) = (new FakeTime(), new LogLines());
        CachingServiceHost host = await CachingServiceHost.StartAsync(
            [
                .. options.Any(option => option.StartsWith("--Urls=", StringComparison.Ordinal))
                    ? []
                    : (string[])["--Urls=http://127.0.0.1:0"],
                .. options.Any(option => option.StartsWith("--Transport=", StringComparison.Ordinal))
                    ? []
                    : (string[])[$"--Transport={Transport}"],

                // A pause would wait for a test to let time go on.
                .. options.Any(option => option.StartsWith("--Cache:FillRetryDelay=", StringComparison.Ordinal))
                    ? []
                    : (string[])["--Cache:FillRetryDelay=0"],

                // A busy machine, or a test that lets time go on, would have requests refused.
                .. options.Any(option => option.StartsWith("--Cache:OverloadDelay=", StringComparison.Ordinal))
                    ? []
                    : (string[])["--Cache:OverloadDelay=0"],
                "--Admin:Url=http://127.0.0.1:0", $"--Cache:Origin={originUrl}", $"--DrainTimeout={drain}",
                .. options,
            ],
            time,

            // As the service has it: else the host would give every request an Activity.
            logging => logging.ClearProviders().AddProvider(log).AddFilter("Microsoft.AspNetCore.Hosting.Diagnostics", LogLevel.None)).WaitAsync(Patience.Limit);
        return new(host, time, log);
    }

    public Task<RawClient> GetAsync(string target, string fields = "", string method = "GET") =>
        RawClient.StartAsync(Url, target, fields, method);

    /// <summary>One request on a connection of its own, read to its end.</summary>
    public async Task<(RawResponse Head, string Body)> FetchAsync(string target, string fields = "", string method = "GET")
    {
        await using RawClient client = await GetAsync(target, fields, method);
        return await client.ReadAsync(method == "HEAD");
    }

    /// <summary>One request to the operator's side, with this token.</summary>
    public async Task<(RawResponse Head, string Body)> AskAdminAsync(string method, string target, string? token = TokenFile.Token)
    {
        await using RawClient client = await RawClient.ConnectAsync(Host.AdminUrl!);
        string fields = token is null ? "" : $"Authorization: Bearer {token}\r\n";
        await client.SendRawAsync($"{method} {target} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n{fields}\r\n");
        return await client.ReadAsync();
    }

    /// <summary>
    /// Has an object stored, by a fill that has ended: one that is just about to counts as the validation of what it has brought, and a stale
    /// object that is served meanwhile begins no other.
    /// </summary>
    public async Task StoreAsync(string target, string fields = "")
    {
        await FetchAsync(target, fields);
        await IsAtRestAsync();
    }

    /// <summary>The reasons that a counter has met, each with its figure: <c>overload=3</c>.</summary>
    /// <param name="counter">Its name in <c>/metrics</c>.</param>
    public string ReasonsOf(string counter) => string.Join(',', Host.Cache.Collector.Read()
        .Where(figure => figure.Value > 0 && figure.Name.StartsWith($"{counter}{{reason=\"", StringComparison.Ordinal))
        .Select(static figure => $"{figure.Name.Split('"')[1]}={figure.Value}"));

    /// <summary>The head of what is stored for a request without fields, fresh or stale.</summary>
    public ResponseHead StoredHead(string key) => Host.Cache.Store.Find(key, new HeaderDictionary())!.Head;

    /// <summary>Waits until as many requests wait for, or read, a fill.</summary>
    public Task JoinedAsync(int joins) => Eventually.TrueAsync(() => Host.Metrics.Joins == joins, $"{joins} joins");

    /// <summary>Nothing in flight: no fill, no reader, no pass, no byte of any of them, and no unhandled error.</summary>
    public async Task IsAtRestAsync()
    {
        await Eventually.TrueAsync(() => Host.Cache.Fills.ActiveCount == 0, "no active fill");
        await Eventually.TrueAsync(() => Host.Metrics.ActiveReaders == 0, "no active reader");
        await Eventually.TrueAsync(() => Host.Metrics is { ActivePasses: 0, ActiveUpgrades: 0 }, "no active pass or upgrade");
        await Eventually.TrueAsync(() => Host.Cache.Ledger.InFlightBytes == 0, "no byte in flight");
        await Eventually.TrueAsync(() => Host.Cache.Ledger.PinnedBytes == 0, "no pinned byte");
        Assert.Empty(Log.Errors);
    }

    public ValueTask DisposeAsync() => Host.DisposeAsync();
}
