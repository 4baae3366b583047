using System.Globalization;
using System.Security.Cryptography.X509Certificates;
using System.Text;
using CachingService.Tests.Disk;
using CachingService.Tests.Infrastructure;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Server.Kestrel.Core;

namespace CachingService.Tests.Filling;

/// <summary>A body that breaks off goes on by Range (Cache:FetchResumes), if it is certain that the bytes are the same.</summary>
public sealed class FetchResumeTests
{
    private const string Resumes = "--Cache:FetchResumes=2";
    private const string Tag = "ETag: \"1\"\r\n";
    private const string OldDate = "Date: Tue, 01 Jan 2030 00:00:00 GMT\r\nLast-Modified: Mon, 31 Dec 2029 23:00:00 GMT\r\n";

    private static readonly string s_body = DiskScene.BodyOf("/a");

    [Theory]
    [InlineData(Tag, "If-Range: \"1\"")]
    [InlineData(OldDate, "If-Range: Mon, 31 Dec 2029 23:00:00 GMT")]
    [InlineData(Tag + "Content-Encoding: gzip\r\n", "If-Range: \"1\"")]
    public async Task Body_ThatBreaksOff_GoesOnWithoutACut(string fields, string condition)
    {
        await using ScriptedOrigin origin = new(exchange => exchange.Number == 1 ? BreakAsync(exchange, fields) : RestAsync(exchange, fields));
        await using TestService service = await TestService.StartAsync(origin.Url, Resumes);

        (RawResponse head, string body) = await service.FetchAsync("/object/a", "Accept-Encoding: gzip\r\n");

        Assert.True(body == s_body, "the body is wrong");
        Assert.Equal((200, $"{s_body.Length}"), (head.Status, head["Content-Length"]));
        Assert.Contains(condition + "\r\n", origin.Exchanges[1].Head, StringComparison.Ordinal);
        await service.IsAtRestAsync();
        Assert.True((await service.FetchAsync("/object/a", "Accept-Encoding: gzip\r\n")).Body == s_body, "the stored body is wrong");
        Assert.Equal((2, 0L, 1L), (origin.RequestCount, service.Host.Metrics.CutReaders, service.Host.Metrics.OriginFailures));
        Assert.Contains("cache_fills_resumed_total 1\n", service.Host.Cache.Collector.Write(), StringComparison.Ordinal);
        Assert.Contains("and sends the rest: a", Assert.Single(service.Log.Warnings), StringComparison.Ordinal);
    }

    /// <summary>To a request with <c>If-Range</c> an origin repeats no more than it must (RFC 9110 15.3.7).</summary>
    [Theory]
    [InlineData(OldDate, "Date: Tue, 01 Jan 2030 00:00:00 GMT\r\n")]
    [InlineData(Tag + "Content-Encoding: gzip\r\n", Tag)]
    public async Task Rest_ThatSaysOnlyWhatItMust_IsTaken(string fields, string fieldsOfRest)
    {
        await using ScriptedOrigin origin = new(exchange => exchange.Number == 1 ? BreakAsync(exchange, fields) : RestAsync(exchange, fieldsOfRest));
        await using TestService service = await TestService.StartAsync(origin.Url, Resumes);
        await using RawClient client = await service.GetAsync("/object/a", "Accept-Encoding: gzip\r\n");
        await client.ReadHeadAsync();

        Assert.Equal(s_body.Length, await client.ReadAtMostAsync(s_body.Length));
        await service.IsAtRestAsync();
        Assert.True((await service.FetchAsync("/object/a", "Accept-Encoding: gzip\r\n")).Body == s_body, "the stored body is wrong");
        Assert.Equal(2, origin.RequestCount);
    }

    [Theory]
    [InlineData("ETag: W/\"1\"\r\n", Resumes)]
    [InlineData("ETag: W/\"1\"\r\n" + OldDate, Resumes)]
    [InlineData("ETag: 1\r\n" + OldDate, Resumes)]
    [InlineData("Date: Tue, 01 Jan 2030 00:00:00 GMT\r\nLast-Modified: Mon, 31 Dec 2029 23:59:59 GMT\r\n", Resumes)]
    [InlineData("", Resumes)]
    [InlineData(Tag, "--Cache:FetchResumes=0")]
    public async Task Body_WithoutAStrongValidator_IsCut(string fields, string option)
    {
        await using ScriptedOrigin origin = new(exchange => BreakAsync(exchange, fields));
        await using TestService service = await TestService.StartAsync(origin.Url, option);

        await IsCutAsync(service);

        Assert.Equal((1, 0), (origin.RequestCount, service.Host.Cache.Store.Count));
    }

    [Theory]
    [InlineData("206 X", "ETag: \"2\"\r\n", 0, 0, "another version")]
    [InlineData("206 X", "ETag: W/\"1\"\r\n", 0, 0, "another version")]
    [InlineData("206 X", OldDate, 0, 0, "another version")]
    [InlineData("200 OK", Tag, 0, 0, "status 200")]
    [InlineData("416 X", Tag, 0, 0, "status 416")]
    [InlineData("206 X", Tag, 1, 0, "another range")]
    [InlineData("206 X", Tag, 0, 1, "another range")]
    [InlineData("206 X", Tag + "Content-Encoding: gzip\r\n", 0, 0, "another coding")]
    public async Task Rest_OfSomethingElse_IsCut(string start, string fields, int offset, int growth, string reason)
    {
        await using ScriptedOrigin origin = new(exchange => exchange.Number == 1
            ? BreakAsync(exchange, Tag)
            : RestAsync(exchange, fields, start, offset, growth));
        await using TestService service = await TestService.StartAsync(origin.Url, Resumes);

        await IsCutAsync(service);

        Assert.Equal((2, 0), (origin.RequestCount, service.Host.Cache.Store.Count));
        Assert.Contains(service.Log.Warnings, line => line.Contains($"({reason})", StringComparison.Ordinal));
    }

    [Theory]
    [InlineData(2, true)]
    [InlineData(1, false)]
    public async Task Body_ThatBreaksOffTwice_IsResumedAsOftenAsItMay(int resumes, bool isWhole)
    {
        await using ScriptedOrigin origin = new(exchange => exchange.Number switch
        {
            1 => BreakAsync(exchange, Tag),
            2 => RestAsync(exchange, Tag, count: 1000),
            _ => RestAsync(exchange, Tag),
        });
        await using TestService service = await TestService.StartAsync(origin.Url, $"--Cache:FetchResumes={resumes}");
        if (!isWhole)
        {
            await IsCutAsync(service);
            return;
        }

        Assert.True((await service.FetchAsync("/object/a")).Body == s_body, "the body is wrong");
        Assert.Equal($"bytes={(s_body.Length / 2) + 1000}-{s_body.Length - 1}", origin.Exchanges[2].Field("Range"));
    }

    [Fact]
    public async Task Rest_ThatDoesNotComeAtOnce_IsAskedForAgain()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.Number switch
        {
            1 => BreakAsync(exchange, Tag),
            2 => exchange.SendAsync("HTTP/1.1 503 X\r\nContent-Length: 0\r\n\r\n"),
            _ => RestAsync(exchange, Tag),
        });
        await using TestService service = await TestService.StartAsync(origin.Url, Resumes);

        Assert.True((await service.FetchAsync("/object/a")).Body == s_body, "the body is wrong");

        Assert.Equal(3, origin.RequestCount);
    }

    [Fact]
    public async Task Rest_ThatDoesNotComeForLong_IsAskedForAsOftenAsItMayBe()
    {
        const int Resumes = 40;
        await using ScriptedOrigin origin = new(exchange => exchange.Number switch
        {
            1 => BreakAsync(exchange, Tag),
            Resumes + 1 => RestAsync(exchange, Tag),
            _ => exchange.SendAsync("HTTP/1.1 503 X\r\nContent-Length: 0\r\n\r\n"),
        });
        await using TestService service = await TestService.StartAsync(
            origin.Url, $"--Cache:FetchResumes={Resumes}", "--Cache:FillRetryDelay=1m", "--Cache:FillAttempts=1", "--Cache:MinReaderRate=0",
            "--Cache:OriginHeaderTimeout=1h", "--Cache:OriginFirstByteTimeout=1h", "--Cache:OriginIdleTimeout=1h");
        await using RawClient client = await service.GetAsync("/object/a");
        await client.ReadHeadAsync();
        await Eventually.TrueAsync(() => AdvanceIfDue() == Resumes + 1, "the last resume");

        Assert.Equal(s_body.Length, await client.ReadAtMostAsync(s_body.Length));

        int AdvanceIfDue()
        {
            if (service.Time.DueWithin(TimeSpan.FromSeconds(10)))
            {
                service.Time.Advance(TimeSpan.FromSeconds(10));
            }

            return origin.RequestCount;
        }
    }

    /// <summary>The first resume comes at once, the next after <c>FillRetryDelay</c>, each further one after twice the pause, and none after more than 10 s.</summary>
    [Fact]
    public async Task Rest_ThatDoesNotCome_IsAskedForAfterLongerAndLongerPauses()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.Number switch
        {
            1 => BreakAsync(exchange, Tag),
            6 => RestAsync(exchange, Tag),
            _ => exchange.SendAsync("HTTP/1.1 503 X\r\nContent-Length: 0\r\n\r\n"),
        });
        await using TestService service = await TestService.StartAsync(
            origin.Url, "--Cache:FetchResumes=5", "--Cache:FillRetryDelay=3s", "--Cache:FillAttempts=1", "--Cache:MinReaderRate=0");
        await using RawClient client = await service.GetAsync("/object/a");

        int requests = 2;
        foreach (TimeSpan pause in (TimeSpan[])[TimeSpan.FromSeconds(3), TimeSpan.FromSeconds(6), TimeSpan.FromSeconds(10), TimeSpan.FromSeconds(10)])
        {
            await Eventually.TrueAsync(() => origin.RequestCount == requests && service.Time.DueWithin(pause), $"a pause of {pause}");
            Assert.False(service.Time.DueWithin(pause - TimeSpan.FromTicks(1)));
            service.Time.Advance(pause);
            requests++;
        }

        Assert.True((await client.ReadAsync()).Body == s_body, "the body is wrong");
        Assert.Equal(6, origin.RequestCount);
        await service.IsAtRestAsync();
    }

    [Theory]
    [InlineData(HttpProtocols.Http1, "HTTP/1.1", 2)]
    [InlineData(HttpProtocols.Http2, "HTTP/2", 1)]
    public async Task Body_ThatBreaksOffOverTls_GoesOnWithoutACut(HttpProtocols protocols, string version, int connections)
    {
        TaskCompletionSource half = new(TaskCreationOptions.RunContinuationsAsynchronously);
        using TestAuthority authority = new();
        using X509Certificate2 certificate = authority.Issue();
        await using TlsOrigin origin = await TlsOrigin.StartAsync(
            certificate,
            async context =>
            {
                byte[] body = Encoding.Latin1.GetBytes(s_body);
                int first = context.Request.GetTypedHeaders().Range is { } range ? (int)range.Ranges.Single().From!.Value : 0;
                context.Response.Headers.ETag = "\"1\"";
                context.Response.Headers.CacheControl = "max-age=60";
                context.Response.ContentLength = body.Length - first;
                if (first > 0)
                {
                    context.Response.StatusCode = StatusCodes.Status206PartialContent;
                    context.Response.Headers.ContentRange = $"bytes {first}-{body.Length - 1}/{body.Length}";
                    await context.Response.Body.WriteAsync(body.AsMemory(first));
                    return;
                }

                await context.Response.Body.WriteAsync(body.AsMemory(0, body.Length / 2));
                await half.Task;
                context.Abort();
            },
            protocols);
        await using TestService service = await TestService.StartAsync(origin.NamedUrl, authority.Option, Resumes);
        await using RawClient client = await service.GetAsync("/object/a");
        await client.ReadHeadAsync();
        string start = await client.ReadExactlyAsync(s_body.Length / 2);
        half.SetResult();

        Assert.True(start + await client.ReadExactlyAsync(s_body.Length - start.Length) == s_body, "the body is wrong");
        await service.IsAtRestAsync();
        Assert.Equal((2, connections), (origin.Requests.Count, origin.Connections));
        Assert.All(origin.Requests, request => Assert.Equal(version, request.Protocol));
        Assert.Equal(($"bytes={s_body.Length / 2}-{s_body.Length - 1}", "\"1\""), (origin.Requests[1].Fields["Range"], origin.Requests[1].Fields["If-Range"]));
        Assert.Equal((0L, 1L), (service.Host.Metrics.CutReaders, service.Host.Metrics.OriginFailures));
    }

    [Fact]
    public async Task Rest_IsAskedForAtAnotherAddress()
    {
        await using ScriptedOrigin first = new(exchange => BreakAsync(exchange, Tag));
        await using ScriptedOrigin second = new(exchange => RestAsync(exchange, Tag));
        await using TestService service = await TestService.StartAsync(
            "", $"--Cache:Origins={first.Url};{second.Url}", "--Cache:OriginMaxFills=1", Resumes);

        Assert.True((await service.FetchAsync("/object/a")).Body == s_body, "the body is wrong");

        Assert.Equal((1, 1), (first.RequestCount, second.RequestCount));
    }

    [Fact]
    public async Task Body_ThatStopsComing_GoesOnForAllReaders()
    {
        await using ScriptedOrigin origin = new(async exchange =>
        {
            if (exchange.Number > 1)
            {
                await RestAsync(exchange, Tag);
                return;
            }

            await SendStartAsync(exchange, Tag);
            await exchange.ClosedByServiceAsync();
        });
        await using TestService service = await TestService.StartAsync(origin.Url, Resumes, "--Cache:OriginIdleTimeout=3s", "--Cache:MinReaderRate=0");
        await using RawClient whole = await service.GetAsync("/object/a");
        RawResponse head = await whole.ReadHeadAsync();
        string start = await whole.ReadExactlyAsync(s_body.Length / 2);
        await using RawClient range = await service.GetAsync("/object/a", "Range: bytes=150000-150009\r\n");
        await service.JoinedAsync(1);
        await Eventually.TrueAsync(() => service.Time.DueWithin(TimeSpan.FromSeconds(3)), "the next byte is waited for");

        service.Time.Advance(TimeSpan.FromSeconds(3));

        Assert.True(start + await whole.ReadExactlyAsync(s_body.Length - start.Length) == s_body, "the body is wrong");
        (RawResponse part, string bytes) = await range.ReadAsync();
        Assert.Equal((200, 206, s_body.Substring(150_000, 10)), (head.Status, part.Status, bytes));
        await service.IsAtRestAsync();
    }

    [Fact]
    public async Task Body_OverTheLimit_IsResumedToo()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.Number == 1 ? BreakAsync(exchange, Tag) : RestAsync(exchange, Tag));
        await using TestService service = await TestService.StartAsync(origin.Url, Resumes, "--Cache:MaxObjectBytes=10000", "--Cache:ReadAheadBytes=4096");

        Assert.True((await service.FetchAsync("/object/a")).Body == s_body, "the body is wrong");

        await service.IsAtRestAsync();
        Assert.Equal((2, 0), (origin.RequestCount, service.Host.Cache.Store.Count));
    }

    [Fact]
    public async Task Body_ThatWasResumed_IsWholeOnTheDisk()
    {
        string directory = Directory.CreateTempSubdirectory("resume-").FullName;
        try
        {
            await using ScriptedOrigin origin = new(exchange => exchange.Target != "/a" ? exchange.AnswerAsync(s_body)
                : exchange.Number == 1 ? BreakAsync(exchange, Tag) : RestAsync(exchange, Tag));
            await using TestService service = await TestService.StartAsync(
                origin.Url, Resumes, "--Cache:MaxObjects=1", $"--Cache:DiskPath={directory}", "--Cache:DiskBytes=4MiB", "--Cache:DiskSegmentBytes=1MiB");
            await service.StoreAsync("/object/a");
            await service.StoreAsync("/object/b");
            await Eventually.TrueAsync(() => service.Host.Cache.Disk!.Metrics.Demotions == 1, "it is on the disk");

            Assert.True((await service.FetchAsync("/object/a")).Body == s_body, "the body is wrong");

            Assert.Equal(3, origin.RequestCount);
            await service.IsAtRestAsync();
        }
        finally
        {
            Directory.Delete(directory, recursive: true);
        }
    }

    private static async Task IsCutAsync(TestService service)
    {
        await using RawClient client = await service.GetAsync("/object/a");
        Assert.Equal(200, (await client.ReadHeadAsync()).Status);
        string body = await client.ReadToCloseAsync();
        Assert.True(body.Length < s_body.Length && s_body.StartsWith(body, StringComparison.Ordinal), "the body is wrong");
        await service.IsAtRestAsync();
        Assert.Equal(1L, service.Host.Metrics.CutReaders);
    }

    private static Task SendStartAsync(OriginExchange exchange, string fields) => exchange.SendAsync(
        $"HTTP/1.1 200 OK\r\nContent-Length: {s_body.Length}\r\nCache-Control: max-age=60\r\n{fields}\r\n{s_body[..(s_body.Length / 2)]}");

    /// <summary>Half of the body, and the end of the connection.</summary>
    private static async Task BreakAsync(OriginExchange exchange, string fields)
    {
        await SendStartAsync(exchange, fields);
        exchange.Close();
    }

    /// <summary>What is asked for, or something like it.</summary>
    private static async Task RestAsync(
        OriginExchange exchange, string fields, string start = "206 Partial Content", int offset = 0, int growth = 0, int? count = null)
    {
        int first = int.Parse(exchange.Field("Range")!["bytes=".Length..].Split('-')[0], CultureInfo.InvariantCulture);
        string rest = s_body[first..];
        await exchange.SendAsync(
            $"HTTP/1.1 {start}\r\nContent-Length: {rest.Length}\r\nContent-Range: bytes {first + offset}-{s_body.Length - 1}/{s_body.Length + growth}\r\n"
            + $"Cache-Control: max-age=60\r\n{fields}\r\n{rest[..(count ?? rest.Length)]}");
        if (count is not null)
        {
            exchange.Close();
        }
    }
}
