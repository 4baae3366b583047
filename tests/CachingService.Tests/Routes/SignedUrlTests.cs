using System.Net;
using System.Security.Cryptography;
using System.Text;
using CachingService.Options;
using CachingService.Tests.Files;
using CachingService.Tests.Infrastructure;
using IoUringCache.Caching.Options;
using Microsoft.Extensions.Configuration;

namespace CachingService.Tests.Routes;

/// <summary>Routes that answer only requests whose URL is signed and has not expired.</summary>
public sealed class SignedUrlTests : IDisposable
{
    private const string Hit = "CachingService; hit; ttl=60";
    private const string First = "first";
    private const string Second = "second.2";

    private static readonly Dictionary<string, byte[]> s_secrets = new()
    {
        [First] = [.. Enumerable.Range(0, 16).Select(static value => (byte)value)],
        [Second] = [.. Enumerable.Range(0, 32).Select(static value => (byte)~value)],
    };

    private readonly string _keys = Path.GetTempFileName();
    private readonly string _settings = Path.GetTempFileName();

    public SignedUrlTests() => WriteKeys(First, Second);

    private string KeysOption => $"--Cache:SignedUrlKeysFile={_keys}";

    public void Dispose()
    {
        File.Delete(_keys);
        File.Delete(_settings);
    }

    [Fact]
    public async Task Clients_WithDifferentSignatures_ShareAnObject()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("whole body"));
        await using TestService service = await TestService.StartAsync(origin.Url, KeysOption, "--Cache:IgnoredQueryParameters=utm_*");

        await service.StoreAsync(Sign("/object/a?b=c&utm_source=x"));
        Assert.Equal("/a?b=c", Assert.Single(origin.Exchanges).Target);

        (RawResponse head, string body) = await service.FetchAsync(Sign("/object/a?b=c", Second, 7200));
        Assert.Equal((200, Hit, "whole body"), (head.Status, head.CacheStatus, body));
        Assert.Equal(Hit, (await service.FetchAsync(Sign("/object/a?b=c"), method: "HEAD")).Head.CacheStatus);
        (head, body) = await service.FetchAsync(Sign("/object/a?b=c", Second), "Range: bytes=0-4\r\n");
        Assert.Equal((206, "whole"), (head.Status, body));
        Assert.Equal(200, service.StoredHead("a?b=c").StatusCode);
    }

    [Fact]
    public async Task Request_OfAnotherMethod_NeedsASignatureToo()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("x"));
        await using TestService service = await TestService.StartAsync(origin.Url, KeysOption);

        Assert.Equal((403, "signature-missing"), await AskAsync(service, "/object/a", method: "POST"));
        Assert.Equal((200, "fwd=method; fwd-status=200"), await AskAsync(service, Sign("/object/a"), "Content-Length: 0\r\n", "POST"));
        Assert.Equal("POST /a HTTP/1.1", Assert.Single(origin.Exchanges).RequestLine);
    }

    [Theory]
    [InlineData("signature-missing", "/object/a")]
    [InlineData("signature-missing", "/object/a?expires=1893460000&key=first")]
    [InlineData("signature-missing", "/object/a?signature")]

    // The path is not the query, also where it looks like one.
    [InlineData("signature-missing", "SIGNED", "?", "&")]
    [InlineData("signature-malformed", "/object/a?signature=x")]
    [InlineData("signature-malformed", "SIGNED&utm_source=x")]
    [InlineData("signature-malformed", "SIGNED&signature=x")]
    [InlineData("signature-malformed", "SIGNED", "key=", "key=other&key=")]
    [InlineData("signature-malformed", "SIGNED", "expires=", "expires&expires=")]
    [InlineData("signature-malformed", "SIGNED", "expires=", "expires=-")]
    [InlineData("signature-malformed", "/object/a?key=first&expires=1893460000&signature=x")]
    [InlineData("signature-key-unknown", "SIGNED", "key=first", "key=third")]
    [InlineData("signature-key-unknown", "SIGNED", "key=first", "key=")]
    [InlineData("signature-wrong", "SIGNED", "key=first", "key=second.2")]
    [InlineData("signature-wrong", "SIGNED", "/object/a", "/object/b")]
    [InlineData("signature-wrong", "SIGNED", "/object/a", "/object/%61")]
    [InlineData("signature-wrong", "SIGNED", "expires=1", "expires=2")]
    [InlineData("signature-wrong", "SIGNED", "?", "?b=c&")]
    [InlineData("signature-wrong", "SIGNED=")]
    [InlineData("signature-wrong", "SIGNED", "signature=", "signature=A")]
    [InlineData("signature-wrong", "/object/a?expires=1893460000&key=first&signature=")]
    [InlineData("signature-expired", "EXPIRED")]
    public async Task Url_ThatIsNotSigned_IsRefused(string reason, string target, string part = "none", string other = "none")
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("x"));
        await using TestService service = await TestService.StartAsync(origin.Url, KeysOption);
        string url = target
            .Replace("SIGNED", Sign("/object/a"), StringComparison.Ordinal)
            .Replace("EXPIRED", Sign("/object/a", seconds: 0), StringComparison.Ordinal)
            .Replace(part, other, StringComparison.Ordinal);

        (RawResponse head, string body) = await service.FetchAsync(url);

        Assert.Equal((403, "no-store", $"CachingService; detail={reason}", ""), (head.Status, head["Cache-Control"], head.CacheStatus, body));
        Assert.Equal((0, $"{reason}=1"), (origin.RequestCount, service.ReasonsOf("cache_route_refusals_total")));
        Assert.Equal("OK", (await service.FetchAsync("/health")).Body);
    }

    [Fact]
    public async Task Url_IsServedUntilItExpires_ThoughItsObjectIsFresh()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("x", "Cache-Control: max-age=3600\r\n"));
        await using TestService service = await TestService.StartAsync(origin.Url, KeysOption);
        string url = Sign("/object/a", seconds: 60);
        await service.StoreAsync(url);

        service.Time.Advance(TimeSpan.FromSeconds(59.9));
        Assert.Equal((200, "hit; ttl=3540"), await AskAsync(service, url));

        service.Time.Advance(TimeSpan.FromSeconds(0.1));
        Assert.Equal((403, "signature-expired"), await AskAsync(service, url));
        Assert.Equal(200, (await AskAsync(service, Sign("/object/a", seconds: 61))).Status);
    }

    [Fact]
    public async Task Keys_FollowAReload()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("x"));
        WriteKeys(First);
        await using TestService service = await TestService.StartAsync(origin.Url, KeysOption);
        Assert.Equal((200, "signature-key-unknown"), ((await AskAsync(service, Sign("/object/a"))).Status, (await AskAsync(service, Sign("/object/a", Second))).Detail));

        WriteKeys(First, Second);
        service.Host.Reload();
        Assert.Equal((200, 200), ((await AskAsync(service, Sign("/object/a"))).Status, (await AskAsync(service, Sign("/object/a", Second))).Status));

        WriteKeys(Second);
        service.Host.Reload();
        Assert.Equal(("signature-key-unknown", 200), ((await AskAsync(service, Sign("/object/a"))).Detail, (await AskAsync(service, Sign("/object/a", Second))).Status));

        // Nothing in it must not mean that URLs need no signature.
        File.WriteAllText(_keys, "\n");
        service.Host.Reload();
        Assert.Contains("Cache:SignedUrlKeysFile: has no key.", Assert.Single(service.Log.Warnings), StringComparison.Ordinal);
        Assert.Equal((403, "signature-missing"), await AskAsync(service, "/object/a"));
    }

    [Fact]
    public async Task Routes_HaveKeysOfTheirOwn_OrNone()
    {
        using ServedFolder folder = new();
        folder.Make("files/a.txt", "of a file");
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("x"));
        File.WriteAllText(_settings, $$"""
            { "Cache": { "Origins": "{{origin.Url}}", "SignedUrlKeys": "{{KeyOf(First)}}", "Routes": [
                { "Prefix": "own/", "SignedUrlKeysFile": "{{_keys}}" },
                { "Prefix": "open/", "SignedUrlKeys": "" },
                { "Prefix": "files/", "Origin": "{{folder.Url}}" } ] } }
            """);
        WriteKeys(Second);
        await using TestService service = await TestService.StartAsync("", $"--Settings={_settings}");

        Assert.Equal(200, (await AskAsync(service, Sign("/object/a"))).Status);
        Assert.Equal((403, "signature-key-unknown"), await AskAsync(service, Sign("/object/own/a")));
        Assert.Equal(200, (await AskAsync(service, Sign("/object/own/a", Second))).Status);
        Assert.Equal(200, (await AskAsync(service, "/object/open/a?key=of-the-origin")).Status);
        Assert.Equal("of a file", (await service.FetchAsync(Sign("/object/files/a.txt"))).Body);
        Assert.Equal((403, "signature-missing"), await AskAsync(service, "/object/files/a.txt"));
        Assert.Equal("/open/a?key=of-the-origin", origin.Exchanges[^1].Target);
    }

    [Fact]
    public async Task Streams_OfHttp2_AreCheckedToo()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("x"));
        await using TestService service = await TestService.StartAsync(origin.Url, KeysOption, "--Protocols=Http2");
        using Http2Client client = new(service.Url);

        using HttpResponseMessage none = await client.GetAsync("/object/a?b=%20c");
        using HttpResponseMessage signed = await client.GetAsync(Sign("/object/a?b=%20c"));

        Assert.Equal((HttpStatusCode.Forbidden, HttpStatusCode.OK), (none.StatusCode, signed.StatusCode));
        Assert.Equal("/a?b=%20c", Assert.Single(origin.Exchanges).Target);
    }

    [Fact]
    public async Task Preflights_AndPurgesForTheService_NeedNoSignature()
    {
        const string Asked = "Origin: https://app.test\r\n";
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("x"));
        await using TestService service = await TestService.StartAsync(origin.Url, KeysOption, "--Cache:CorsOrigins=https://app.test", "--Cache:PurgeFrom=127.0.0.1");
        await service.StoreAsync(Sign("/object/a"));

        Assert.Equal(204, (await AskAsync(service, "/object/a", $"{Asked}Access-Control-Request-Method: PUT\r\n", "OPTIONS")).Status);
        Assert.Equal("https://app.test", (await service.FetchAsync("/object/a", Asked)).Head["Access-Control-Allow-Origin"]);
        Assert.Equal(200, (await AskAsync(service, "/object/a", method: "PURGE")).Status);
        Assert.Equal((200, "fwd=uri-miss; fwd-status=200; stored"), await AskAsync(service, Sign("/object/a")));
    }

    /// <summary>Networks, then rates, then signatures: one who guesses is slowed down.</summary>
    [Fact]
    public async Task Rules_AreAppliedInOrder()
    {
        await using ScriptedOrigin origin = new(exchange => exchange.AnswerAsync("x"));
        await using TestService service = await TestService.StartAsync(
            origin.Url, KeysOption, "--Cache:RateLimit=1/h", "--Cache:DenyFrom=192.0.2.1", "--Cache:TrustedProxies=127.0.0.1");

        Assert.Equal((403, "client-network"), await AskAsync(service, "/object/a", "X-Forwarded-For: 192.0.2.1\r\n"));
        Assert.Equal((403, "signature-missing"), await AskAsync(service, "/object/a", "X-Forwarded-For: 192.0.2.2\r\n"));
        Assert.Equal((429, "rate-limit"), await AskAsync(service, Sign("/object/a"), "X-Forwarded-For: 192.0.2.2\r\n"));
        Assert.Equal(200, (await AskAsync(service, Sign("/object/a"), "X-Forwarded-For: 192.0.2.3\r\n")).Status);
    }

    [Theory]
    [InlineData("Cache:SignedUrlKeys: key 1 is not valid: expected id:secret", "Cache:SignedUrlKeys=c2VjcmV0c2VjcmV0c2VjcmV0")]
    [InlineData("Cache:SignedUrlKeys: key 2 is not valid", "Cache:SignedUrlKeys=a:AAECAwQFBgcICQoLDA0ODw==;b:c2VjcmV0")]
    [InlineData("Cache:SignedUrlKeys: key 1 is not valid", "Cache:SignedUrlKeys=a b:AAECAwQFBgcICQoLDA0ODw==")]
    [InlineData("Cache:SignedUrlKeys: key 1 is not valid", "Cache:SignedUrlKeys=a:c2VjcmV0!c2VjcmV0c2VjcmV0")]
    [InlineData("Cache:SignedUrlKeys: key 2 has the id of another", "Cache:SignedUrlKeys=a:AAECAwQFBgcICQoLDA0ODw==;a:c2VjcmV0c2VjcmV0c2VjcmV0")]
    [InlineData("Cache:SignedUrlKeys: has no key", "Cache:SignedUrlKeys=;")]
    [InlineData("Cache:SignedUrlKeysFile: cannot read '/nowhere/keys'", "Cache:SignedUrlKeysFile=/nowhere/keys")]
    [InlineData("Cache:Routes:0:SignedUrlKeysFile: cannot be given together with Cache:Routes:0:SignedUrlKeys", "Cache:Routes:0:Prefix=a/", "Cache:Routes:0:SignedUrlKeys=c2VjcmV0", "Cache:Routes:0:SignedUrlKeysFile=/a")]
    public void Option_ThatIsWrong_IsNamed_AndTellsNoSecret(string expected, params string[] settings)
    {
        OptionException failure = Assert.Throws<OptionException>(() => Read(settings));

        Assert.StartsWith($"Option {expected}", failure.Message, StringComparison.Ordinal);
        Assert.DoesNotContain("c2VjcmV0", failure.Message, StringComparison.Ordinal);
    }

    [Fact]
    public void Secrets_AreInNoText() =>
        Assert.DoesNotContain(KeyOf(First).Split(':')[1], string.Join(' ', Read($"Cache:SignedUrlKeys={KeyOf(First)}").Routes.Select(static route => $"{route}")), StringComparison.Ordinal);

    [Theory]
    [InlineData("--Cache:SignedUrlKeys=c2VjcmV0", "(Cache__SignedUrlKeys) or --Cache:SignedUrlKeysFile.")]
    [InlineData("--cache:routes:3:signedurlkeys=c2VjcmV0", "(cache__routes__3__signedurlkeys) or --cache:routes:3:SignedUrlKeysFile.")]
    public void Secrets_OnTheCommandLine_AreRefusedAndNotTold(string argument, string expected)
    {
        OptionException failure = Assert.Throws<OptionException>(() => CommandLine.Parse([argument]));

        Assert.Contains(expected, failure.Message, StringComparison.Ordinal);
        Assert.DoesNotContain("c2VjcmV0", failure.Message, StringComparison.Ordinal);
    }

    /// <summary>The steps of the page for operators.</summary>
    /// <param name="target">Path, with or without a query.</param>
    /// <param name="id">Of the key.</param>
    /// <param name="seconds">After which the URL expires, from the start of the service's clock.</param>
    private static string Sign(string target, string id = First, int seconds = 3600)
    {
        string text = $"{target}{(target.Contains('?', StringComparison.Ordinal) ? '&' : '?')}expires={new FakeTime().GetUtcNow().ToUnixTimeSeconds() + seconds}&key={id}";
        string signature = Convert.ToBase64String(HMACSHA256.HashData(s_secrets[id], Encoding.ASCII.GetBytes(text))).Replace('+', '-').Replace('/', '_').TrimEnd('=');
        return $"{text}&signature={signature}";
    }

    private static string KeyOf(string id) => $"{id}:{Convert.ToBase64String(s_secrets[id])}";

    private static ServiceOptions Read(params string[] settings) => ServiceOptions.Read(new ConfigurationBuilder()
        .AddInMemoryCollection(settings.Select(static setting => setting.Split('=', 2)).Select(static pair => KeyValuePair.Create(pair[0], (string?)pair[1]))).Build());

    private static async Task<(int Status, string Detail)> AskAsync(TestService service, string target, string fields = "", string method = "GET")
    {
        await using RawClient client = await service.GetAsync(target, fields, method);
        RawResponse head = await client.ReadHeadAsync();
        return (head.Status, head.CacheStatus.Replace("CachingService; ", "", StringComparison.Ordinal).Replace("detail=", "", StringComparison.Ordinal));
    }

    private void WriteKeys(params string[] ids) => File.WriteAllLines(_keys, ids.Select(KeyOf));
}
