using System.Diagnostics;
using System.Net.Sockets;
using CachingService.Tests.Infrastructure;

namespace CachingService.Tests.Listening;

/// <summary>Processes that know each other by a Unix socket in a directory of their own.</summary>
public abstract class HandOverScene : IDisposable
{
    protected const string Listening = "Now listening on: ";
    protected const string Serving = "Serving ";

    protected string Folder { get; } = Directory.CreateTempSubdirectory("hand-over-").FullName;

    protected string SocketPath => Path.Combine(Folder, "hand-over.socket");

    public void Dispose()
    {
        Directory.Delete(Folder, recursive: true);
        GC.SuppressFinalize(this);
    }

    /// <summary>Answers <c>abcdef</c>, of <c>/held</c> the second half when the task has ended.</summary>
    private protected static ScriptedOrigin OriginThatHolds(Task rest) => new(async exchange =>
    {
        await exchange.SendAsync("HTTP/1.1 200 OK\r\nCache-Control: max-age=600\r\nContent-Length: 6\r\n\r\nabc");
        await (exchange.Target == "/held" ? rest : Task.CompletedTask);
        await exchange.SendAsync("def");
    });

    protected static async Task<(string Url, string AdminUrl)> ReadUrlsAsync(Process program) =>
        UrlsIn(await ServiceProcess.ReadLineAsync(program, Serving));

    protected static (string Url, string AdminUrl) UrlsIn(string line)
    {
        string[] parts = line.Split(Serving)[1].Split("; ");
        return (parts[0], parts[1]["admin: ".Length..]);
    }

    protected static Task<string> ReadListeningAsync(Process program) => ServiceProcess.ReadAfterAsync(program, Listening);

    protected static async Task<string> GetAsync(string url, string target)
    {
        await using RawClient client = await RawClient.ConnectAsync(url);
        await client.SendRawAsync($"GET {target} HTTP/1.1\r\nHost: localhost\r\n\r\n");
        RawResponse head = (await client.ReadAsync()).Head;
        Assert.Equal(200, head.Status);
        return head.CacheStatus;
    }

    protected static Task AssertServesAsync(string url) => GetAsync(url, "/health");

    protected async Task AssertCanBeTakenOverAsync(Process first, string url)
    {
        using Process next = Start(url, "");
        await ReadUrlsAsync(next);
        await ServiceProcess.ReadToExitAsync(first);
        await AssertServesAsync(url);
        await ServiceProcess.StopAsync(next);
        Assert.Equal(0, next.ExitCode);
    }

    protected Socket Connect()
    {
        Socket socket = new(AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified)
        {
            ReceiveTimeout = (int)Patience.Limit.TotalMilliseconds,
        };
        socket.Connect(new UnixDomainSocketEndPoint(SocketPath));
        return socket;
    }

    protected Process Start(string urls, string adminUrl, params string[] options) => ServiceProcess.Start(
        [
            $"--Urls={urls}", $"--Admin:Url={adminUrl}", $"--HandOver={SocketPath}",
            .. options.Any(static option => option.StartsWith("--Transport=", StringComparison.Ordinal))
                ? []
                : (string[])[$"--Transport={TestService.Transport}"],
            .. options,
        ]);
}
