using System.Diagnostics;
using System.Net;
using System.Net.Sockets;
using CachingService.Tests.Infrastructure;
using NATS.Client.Core;
using NATS.Client.JetStream;

namespace CachingService.Tests.Cluster;

/// <summary>A real NATS server with JetStream on a disk, which can be killed and started again on its port.</summary>
internal sealed class NatsServer : IAsyncDisposable
{
    private const string Program = "nats-server";

    private readonly string _directory = Directory.CreateTempSubdirectory("nats-").FullName;
    private readonly string[] _options;
    private Process? _process;

    private NatsServer(string[] options)
    {
        _options = options;
        using Socket free = new(AddressFamily.InterNetwork, SocketType.Stream, ProtocolType.Tcp);
        free.Bind(new IPEndPoint(IPAddress.Loopback, 0));
        Port = ((IPEndPoint)free.LocalEndPoint!).Port;
    }

    public int Port { get; }

    public string Url => $"nats://127.0.0.1:{Port}";

    /// <summary>Starts one, or skips the test where there is none; where the machine must have everything, that is a failure.</summary>
    public static async Task<NatsServer> StartAsync(params string[] options)
    {
        bool isThere = (Environment.GetEnvironmentVariable("PATH") ?? "").Split(':').Append("/usr/sbin")
            .Any(folder => File.Exists(Path.Combine(folder, Program)));
        Assert.SkipUnless(isThere || Environment.GetEnvironmentVariable("IOURING_REQUIRED") == "1", $"{Program} is not installed");
        NatsServer server = new(options);
        await server.StartAsync();
        return server;
    }

    public async Task StartAsync()
    {
        ProcessStartInfo start = new(Program, ["-a", "127.0.0.1", "-p", $"{Port}", "-js", "-sd", _directory, .. _options])
        {
            RedirectStandardError = true,
        };
        _process = Process.Start(start)!;
        while (true)
        {
            string? line = await _process.StandardError.ReadLineAsync(TestContext.Current.CancellationToken).AsTask().WaitAsync(Patience.Limit);
            Assert.True(line is not null, $"{Program} has ended");
            if (line.Contains("Server is ready", StringComparison.Ordinal))
            {
                // What it says from here on nobody reads; a full pipe would stop it.
                _ = _process.StandardError.ReadToEndAsync();
                return;
            }
        }
    }

    public async Task KillAsync()
    {
        _process!.Kill();
        await _process.WaitForExitAsync(TestContext.Current.CancellationToken).WaitAsync(Patience.Limit);
        _process.Dispose();
        _process = null;
    }

    /// <summary>Does something to its streams, as an operator would.</summary>
    public async Task UseAsync(Func<NatsJSContext, Task> use)
    {
        await using NatsConnection connection = new(new() { Url = Url });
        await use(new(connection)).WaitAsync(Patience.Limit);
    }

    public async ValueTask DisposeAsync()
    {
        if (_process is not null)
        {
            await KillAsync();
        }

        Directory.Delete(_directory, recursive: true);
    }
}
