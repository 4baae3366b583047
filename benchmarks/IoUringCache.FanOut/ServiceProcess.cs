using System.Diagnostics;
using System.Globalization;
using System.Text.RegularExpressions;

namespace IoUringCache.FanOut;

/// <summary>The service that is measured: where it listens, and what it has used up so far. Ends with this, if it was started by it.</summary>
internal sealed partial class ServiceProcess : IDisposable
{
    private static readonly TimeSpan s_startLimit = TimeSpan.FromSeconds(30);

    private readonly HttpClient _client = new();
    private readonly Process? _started;
    private readonly Uri _admin;
    private readonly int _pid;

    private ServiceProcess(Process? started, int pid, Uri url, Uri admin) => (_started, _pid, Url, _admin) = (started, pid, url, admin);

    internal Uri Url { get; }

    /// <summary>Takes the service that the options name, or starts one on its processor.</summary>
    /// <exception cref="FanOutException">It does not start.</exception>
    internal static ServiceProcess Open(FanOutOptions options, int originPort)
    {
        if (options.Service is not { } program)
        {
            return new ServiceProcess(null, options.Pid, options.Url!, options.Admin!);
        }

        ProcessStartInfo start = new("taskset") { RedirectStandardOutput = true };
        start.Environment["DOTNET_PROCESSOR_COUNT"] = "1";
        foreach (string argument in (string[])
        [
            "-c", $"{options.ServiceCpu}", program, "--Urls=http://127.0.0.1:0", "--Admin:Url=http://127.0.0.1:0",
            $"--Cache:Origin=http://127.0.0.1:{originPort}", "--Cache:MaxObjectBytes=64GiB", "--Cache:MaxInFlightBytes=64GiB",
            "--Cache:MaxBytes=64GiB", "--Cache:MaxReadersPerObject=20000", .. options.ServiceArguments,
        ])
        {
            start.ArgumentList.Add(argument);
        }

        Process process = Process.Start(start)!;
        if (TryReadStart(process) is not { } serving)
        {
            process.Kill();
            throw new FanOutException("The service has not started.");
        }

        return new ServiceProcess(process, process.Id, new Uri(serving.Groups["url"].Value), new Uri(serving.Groups["admin"].Value));
    }

    /// <summary>Processor time, user and system.</summary>
    internal TimeSpan ReadProcessorTime()
    {
        // The name in parentheses may hold anything; the fields are counted from behind it (proc_pid_stat(5)), in hundredths of a second.
        string stat = File.ReadAllText($"/proc/{_pid}/stat");
        string[] fields = stat[(stat.LastIndexOf(')') + 2)..].Split(' ');
        long ticks = long.Parse(fields[11], CultureInfo.InvariantCulture) + long.Parse(fields[12], CultureInfo.InvariantCulture);
        return TimeSpan.FromMilliseconds(10 * ticks);
    }

    /// <summary>Managed memory allocated since the start, in bytes.</summary>
    /// <exception cref="FanOutException">The service does not say.</exception>
    internal long ReadAllocatedBytes()
    {
        string text = _client.GetStringAsync(new Uri(_admin, "/metrics")).GetAwaiter().GetResult();
        Match match = Allocated().Match(text);
        return match.Success
            ? (long)double.Parse(match.Groups["bytes"].Value, CultureInfo.InvariantCulture)
            : throw new FanOutException($"{_admin}metrics has no process_allocated_bytes_total.");
    }

    public void Dispose()
    {
        _client.Dispose();
        if (_started is not null)
        {
            _started.Kill();
            _started.WaitForExit();
            _started.Dispose();
        }
    }

    /// <summary>What it says when it serves; what else it says goes on to the console.</summary>
    private static Match? TryReadStart(Process process)
    {
        TaskCompletionSource<Match?> serving = new();
        process.OutputDataReceived += (_, line) =>
        {
            Console.Error.WriteLine(line.Data);
            if (line.Data is null)
            {
                serving.TrySetResult(null);
            }
            else if (Serving().Match(line.Data) is { Success: true } match)
            {
                serving.TrySetResult(match);
            }
        };
        process.BeginOutputReadLine();
        return serving.Task.Wait(s_startLimit) ? serving.Task.Result : null;
    }

    [GeneratedRegex("Serving (?<url>http://[^;]+); admin: (?<admin>http://[^;]+);")]
    private static partial Regex Serving();

    [GeneratedRegex("^process_allocated_bytes_total (?<bytes>[0-9.E+]+)$", RegexOptions.Multiline)]
    private static partial Regex Allocated();
}
