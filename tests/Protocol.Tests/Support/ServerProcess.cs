using System.Diagnostics;
using System.Globalization;
using IoUringCache.Transport.Tests.Support;

namespace Protocol.Tests.Support;

/// <summary>samples/PlaintextServer as a process of its own, so that its memory is the server's alone. Ended by dispose.</summary>
internal sealed class ServerProcess : IAsyncDisposable
{
    private readonly Process _process;
    private readonly Task _draining;

    private ServerProcess(Process process, Uri address, Task draining)
    {
        _process = process;
        Address = address;
        _draining = draining;
    }

    internal Uri Address { get; }

    /// <summary>What of it is in memory now, in bytes.</summary>
    internal long ResidentBytes => ReadStatus("VmRSS:");

    /// <summary>The most that ever was, in bytes.</summary>
    internal long PeakResidentBytes => ReadStatus("VmHWM:");

    /// <summary>Of the threads that it has at the moment, the first 15 characters.</summary>
    internal IEnumerable<string> ThreadNames =>
        Directory.EnumerateDirectories($"/proc/{_process.Id}/task").Select(thread => File.ReadAllText(Path.Combine(thread, "comm")).Trim('\n'));

    internal static Task<ServerProcess> StartAsync(TransportKind kind) => StartAsync(kind, Uri.UriSchemeHttp);

    /// <summary>With further options of the server.</summary>
    internal static async Task<ServerProcess> StartAsync(TransportKind kind, string scheme, params string[] options)
    {
        IoUringRequirement.Check();
        string program = Path.Combine(AppContext.BaseDirectory, "PlaintextServer");
        string[] arguments =
        [
            "--urls", $"{scheme}://127.0.0.1:0",
            "--Transport", kind == TransportKind.Sockets ? "Sockets" : "IoUring",
            "--Scheduling", Transports.SchedulingOf(kind).ToString(),
            .. options,
        ];
        Process process = Process.Start(new ProcessStartInfo(program, arguments) { RedirectStandardOutput = true })!;
        try
        {
            Uri address = await ReadAddressAsync(process.StandardOutput).InTime();

            // Nobody must wait for a full pipe.
            return new ServerProcess(process, address, process.StandardOutput.ReadToEndAsync());
        }
        catch
        {
            process.Kill();
            throw;
        }
    }

    public async ValueTask DisposeAsync()
    {
        _process.Kill();
        await _draining.InTime();
        await _process.WaitForExitAsync().InTime();
        _process.Dispose();
    }

    private static async Task<Uri> ReadAddressAsync(StreamReader output)
    {
        const string Mark = "Now listening on: ";
        while (await output.ReadLineAsync() is { } line)
        {
            int at = line.IndexOf(Mark, StringComparison.Ordinal);
            if (at >= 0)
            {
                return new Uri(line[(at + Mark.Length)..]);
            }
        }

        throw new InvalidOperationException("The server ended before it listened.");
    }

    /// <summary>"VmRSS:     1234 kB".</summary>
    private long ReadStatus(string name)
    {
        string line = File.ReadLines($"/proc/{_process.Id}/status").Single(line => line.StartsWith(name, StringComparison.Ordinal));
        return 1024 * long.Parse(line[name.Length..].Replace("kB", "", StringComparison.Ordinal).Trim(), CultureInfo.InvariantCulture);
    }
}
