using CachingService.Tests.Infrastructure;

namespace CachingService.Tests.Serving;

/// <summary>
/// Cache-poisoned denial of service (CPDoS): one client has the origin answer an error, and everybody else must not get it, neither those who
/// wait with it nor those who come later. The origin is as touchy as real ones are.
/// </summary>
public sealed class CpdosTests
{
    private const int Victims = 60;
    private const string Right = "right";

    /// <summary>Fields of the bad request, and the first line of it where that is bad too.</summary>
    public static TheoryData<string, string> Attacks => new()
    {
        { "", $"X-Big: {new string('x', 9000)}\r\n" },
        { "", string.Concat(Enumerable.Range(0, 80).Select(number => $"X-Part-{number}: {new string('x', 150)}\r\n")) },
        { "", $"User-Agent: {new string('x', 9000)}\r\n" },
        { "", $"Accept: {new string('x', 9000)}\r\nAccept-Language: {new string('x', 9000)}\r\n" },
        { "", $"Via: {new string('x', 9000)}\r\n" },
        { "", "X-Meta: a\u0007b\r\n" },
        { "", "User-Agent: a\u0001b\r\n" },
        { "", "X-HTTP-Method-Override: DELETE\r\n" },
        { "", "X-HTTP-Method: DELETE\r\n" },
        { "", "X-Method-Override: DELETE\r\n" },
        { "", "X_HTTP_Method_Override: DELETE\r\n" },
        { "", "Range: bytes=9-\r\n" },
        { "", "If-Match: \"none\"\r\n" },
        { "", "If-Unmodified-Since: Mon, 01 Jan 1990 00:00:00 GMT\r\n" },
        { "", "If-None-Match: *\r\nIf-Range: \"none\"\r\nRange: bytes=0-0\r\n" },
        { "", "Connection: User-Agent\r\nUser-Agent: a\r\n" },
        { "", "Transfer_Encoding: chunked\r\n" },
        { "GET /object/a HTTP/1.0\r\n", "X-Big: " + new string('x', 9000) + "\r\n" },
        { "GET /object/a\r\n", "" },
        { "GET /object/a HTTP/0.9\r\n", "" },
    };

    public static TheoryData<string, string, string> AttacksAndAnswers => new(
        from attack in Attacks
        from answer in (string[])["", "Cache-Control: max-age=60\r\n"]
        select (attack.Data.Item1, attack.Data.Item2, answer));

    [Theory]
    [MemberData(nameof(AttacksAndAnswers))]
    public async Task BadRequest_ThatIsFirst_SpoilsNothingForThoseWhoWaitWithIt(string line, string fields, string answer)
    {
        TaskCompletionSource go = new(TaskCreationOptions.RunContinuationsAsynchronously);
        await using ScriptedOrigin origin = new(exchange => AnswerAsync(exchange, answer, go.Task));
        await using TestService service = await TestService.StartAsync(origin.Url);

        await AttackAsync(service, origin, line, fields, before: 0);
        await AssertAllAreRightAsync(service, go);

        Assert.InRange(origin.Exchanges.Count(exchange => !IsRefused(exchange)), 1, 2);
        await service.IsAtRestAsync();
    }

    [Theory]
    [MemberData(nameof(Attacks))]
    public async Task BadRequest_WhereAStaleObjectIsValidated_SpoilsNothing(string line, string fields)
    {
        TaskCompletionSource go = new(TaskCreationOptions.RunContinuationsAsynchronously);
        await using ScriptedOrigin origin = new(exchange =>
            AnswerAsync(exchange, "Cache-Control: max-age=60\r\n", exchange.Number == 1 ? Task.CompletedTask : go.Task));
        await using TestService service = await TestService.StartAsync(origin.Url);
        await service.StoreAsync("/object/a", "User-Agent: a\r\n");
        service.Time.Advance(TimeSpan.FromSeconds(60));

        await AttackAsync(service, origin, line, fields, before: 1);
        await AssertAllAreRightAsync(service, go);

        // What was there is confirmed, and has not been taken away in between.
        Assert.Single(origin.Exchanges, exchange => !IsRefused(exchange) && exchange.Field("If-None-Match") is null);
        await service.IsAtRestAsync();
    }

    /// <summary>The bad request is at the origin, or has its answer.</summary>
    private static async Task AttackAsync(TestService service, ScriptedOrigin origin, string line, string fields, int before)
    {
        RawClient attacker = await RawClient.ConnectAsync(service.Url);
        string first = line.Length == 0 ? "GET /object/a HTTP/1.1\r\n" : line;
        await attacker.SendRawAsync($"{first}Host: cache.test\r\n{(fields.Contains("User-Agent", StringComparison.Ordinal) ? "" : "User-Agent: a\r\n")}{fields}\r\n");
        Task answered = attacker.ReadHeadAsync();
        await Eventually.TrueAsync(() => origin.RequestCount > before || answered.IsCompleted, "the bad request is where it gets to");
    }

    private static async Task AssertAllAreRightAsync(TestService service, TaskCompletionSource go)
    {
        List<RawClient> victims = [];
        for (int count = 0; count < Victims; count++)
        {
            victims.Add(await service.GetAsync("/object/a", "User-Agent: a\r\n"));
        }

        await Eventually.TrueAsync(() => service.Host.Metrics.Joins + service.Host.Metrics.Misses >= Victims, "all wait");
        go.SetResult();
        (RawResponse Head, string Body)[] answers = await Task.WhenAll(victims.Select(victim => victim.ReadAsync()));
        (RawResponse later, string laterBody) = await service.FetchAsync("/object/a", "User-Agent: a\r\n");

        Assert.All(answers.Append((later, laterBody)), answer => Assert.Equal((200, Right), (answer.Item1.Status, answer.Item2)));
        Assert.StartsWith("CachingService; hit", later.CacheStatus, StringComparison.Ordinal);
        victims.ForEach(victim => victim.Vanish());
    }

    private static async Task AnswerAsync(OriginExchange exchange, string refusal, Task go)
    {
        await go.WaitAsync(Patience.Limit);
        if (IsRefused(exchange))
        {
            await exchange.SendAsync($"HTTP/1.1 400 Bad Request\r\n{refusal}Content-Length: 2\r\n\r\nno");
        }
        else if (exchange.Field("If-None-Match") == "\"tag\"")
        {
            await exchange.SendAsync("HTTP/1.1 304 Not Modified\r\nCache-Control: max-age=60\r\nETag: \"tag\"\r\n\r\n");
        }
        else
        {
            await exchange.AnswerAsync(Right, "Cache-Control: max-age=60\r\nETag: \"tag\"\r\n");
        }
    }

    /// <summary>
    /// A head above 8 KiB, control characters, another method than the line's, a condition or a range that does not hold, no name of the client.
    /// </summary>
    private static bool IsRefused(OriginExchange exchange) =>
        exchange.Head.Length > 8192
        || exchange.Head.Any(character => char.IsControl(character) && character is not ('\r' or '\n'))
        || exchange.Field("User-Agent") is null
        || exchange.Field("Range") is not null
        || exchange.Field("If-Match") is not null
        || exchange.Field("If-Unmodified-Since") is not null
        || exchange.Head.Split("\r\n").Skip(1).Any(field =>
            field.Replace('_', '-').Split(':')[0].ToUpperInvariant()
            is "X-HTTP-METHOD-OVERRIDE" or "X-HTTP-METHOD" or "X-METHOD-OVERRIDE" or "TRANSFER-ENCODING");
}
