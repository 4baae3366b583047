using System.Globalization;
using System.Net;
using System.Net.Sockets;
using System.Text;
using System.Text.RegularExpressions;
using IoUringCache.TechEmpower;
using IoUringCache.Transport;
using IoUringCache.Transport.Tests.Support;
using Microsoft.AspNetCore.Builder;
using Microsoft.Extensions.Logging;
using Protocol.Tests.Http1;

namespace Protocol.Tests.TechEmpower;

/// <summary>The answers of benchmarks/IoUringCache.TechEmpower, which must be those that the rules of its tests want.</summary>
public sealed partial class TechEmpowerTests
{
    private const string Fields = "Host: h\r\nAccept: text/plain,text/html;q=0.9,*/*;q=0.8\r\nConnection: keep-alive\r\n\r\n";

    public static TheoryData<TransportKind, string> Forms => Transports.AllWith(Enum.GetNames<ApplicationForm>());

    [Theory]
    [MemberData(nameof(Forms))]
    public async Task Plaintext_PipelinedBySixteen_IsAnsweredSixteenTimes(TransportKind kind, string form)
    {
        await using WebApplication application = await StartAsync(kind, form);
        using Socket client = await ConnectAsync(application);
        string request = $"GET /plaintext HTTP/1.1\r\n{Fields}";

        // The last request comes in two pieces.
        string requests = string.Concat(Enumerable.Repeat(request, 16));
        await client.SendTextAsync(requests[..^20]);
        for (int i = 0; i < 16; i++)
        {
            if (i == 15)
            {
                await client.SendTextAsync(requests[^20..]);
            }

            await AssertAnswerAsync(client, "text/plain", "Hello, World!");
        }
    }

    [Theory]
    [MemberData(nameof(Forms))]
    public async Task Json_IsAnObjectWithTheMessage(TransportKind kind, string form)
    {
        await using WebApplication application = await StartAsync(kind, form);
        using Socket client = await ConnectAsync(application);

        for (int i = 0; i < 2; i++)
        {
            await client.SendTextAsync($"GET /json HTTP/1.1\r\n{Fields}");

            await AssertAnswerAsync(client, "application/json", """{"message":"Hello, World!"}""");
        }
    }

    [Theory]
    [MemberData(nameof(Forms))]
    public async Task OtherTarget_IsNotFound(TransportKind kind, string form)
    {
        await using WebApplication application = await StartAsync(kind, form);
        using Socket client = await ConnectAsync(application);

        await client.SendTextAsync($"GET /plaintexts HTTP/1.1\r\n{Fields}GET /plaintext HTTP/1.1\r\n{Fields}");

        Assert.StartsWith("HTTP/1.1 404 Not Found\r\n", await client.ReceiveHeadAsync(), StringComparison.Ordinal);
        await AssertAnswerAsync(client, "text/plain", "Hello, World!");
    }

    [Theory]
    [MemberData(nameof(Forms))]
    public async Task NoRequest_EndsTheConnection(TransportKind kind, string form)
    {
        await using WebApplication application = await StartAsync(kind, form);
        using Socket client = await ConnectAsync(application);

        await client.SendTextAsync("\0\r\n\r\n");

        await client.ReceiveToEndAsync();
    }

    [Theory]
    [InlineData("--Application", "Fast")]
    [InlineData("--Transport", "2")]
    [InlineData("--urls", "https://127.0.0.1:8080")]
    [InlineData("--urls", "http://127.0.0.1:1x")]
    [InlineData("--unknown", "value")]
    [InlineData("--Scheduling")]
    public void Options_Wrong_AreNamed(params string[] arguments)
    {
        FormatException exception = Assert.Throws<FormatException>(() => CommandLine.Parse(arguments));

        Assert.StartsWith(arguments[0], exception.Message, StringComparison.Ordinal);
    }

    [Fact]
    public void Options_Right_AreTaken()
    {
        CommandLine options = CommandLine.Parse(
            ["--urls=http://127.0.0.1:0", "--application", "platform", "--Transport", "Sockets", "--SCHEDULING=Adaptive"]);

        Assert.Equal(
            new CommandLine
            {
                Urls = "http://127.0.0.1:0",
                Application = ApplicationForm.Platform,
                Transport = TransportBackend.Sockets,
                Scheduling = ApplicationScheduling.Adaptive,
            },
            options);
    }

    private static async Task<WebApplication> StartAsync(TransportKind kind, string form)
    {
        IoUringRequirement.Check();
        CommandLine options = new()
        {
            Urls = "http://127.0.0.1:0",
            Application = Enum.Parse<ApplicationForm>(form),
            Transport = kind == TransportKind.Sockets ? TransportBackend.Sockets : TransportBackend.IoUring,
            Scheduling = Transports.SchedulingOf(kind),
        };
        WebApplication application = Server.Build(options, logging => logging.ClearProviders());
        await application.StartAsync().InTime();
        return application;
    }

    private static async Task<Socket> ConnectAsync(WebApplication application)
    {
        Socket client = new(SocketType.Stream, ProtocolType.Tcp) { NoDelay = true };
        await client.ConnectAsync(IPAddress.Loopback, new Uri(application.Urls.Single()).Port).InTime();
        return client;
    }

    /// <summary>The next answer: its status, the four fields that every one must have, and its body.</summary>
    private static async Task AssertAnswerAsync(Socket client, string type, string body)
    {
        string head = await client.ReceiveHeadAsync();
        Assert.StartsWith("HTTP/1.1 200 OK\r\n", head, StringComparison.Ordinal);
        Assert.Contains("\r\nServer: Kestrel\r\n", head, StringComparison.Ordinal);
        Assert.Matches($"\r\nContent-Type: {Regex.Escape(type)}(; charset=utf-8)?\r\n", head);
        Assert.Contains($"\r\nContent-Length: {body.Length}\r\n", head, StringComparison.Ordinal);
        DateTimeOffset date = DateTimeOffset.ParseExact(DateField().Match(head).Groups[1].Value, "R", CultureInfo.InvariantCulture);
        Assert.InRange((DateTimeOffset.UtcNow - date).Duration(), TimeSpan.Zero, Deadline.Limit);
        Assert.Equal(body, Encoding.ASCII.GetString(await client.ReceiveExactlyAsync(body.Length)));
    }

    [GeneratedRegex("\r\nDate: ([^\r]*)\r\n")]
    private static partial Regex DateField();
}
