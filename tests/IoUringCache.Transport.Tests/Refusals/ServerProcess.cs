using System.Diagnostics;
using System.Globalization;
using System.Text;
using System.Text.RegularExpressions;
using IoUringCache.Transport.Tests.Support;

namespace IoUringCache.Transport.Tests.Refusals;

/// <summary>
/// The sample PlaintextServer as a process of its own, under whatever limit or filter the command before it sets. Ended by its owner.
/// </summary>
internal sealed partial class ServerProcess : IAsyncDisposable
{
    /// <summary>A runtime that starts on a busy machine takes its time.</summary>
    private static readonly TimeSpan s_patience = TimeSpan.FromSeconds(60);

    private readonly Process _process;
    private readonly Lock _lock = new();
    private readonly StringBuilder _output = new();
    private readonly StringBuilder _errors = new();

    private ServerProcess(Process process)
    {
        _process = process;
        process.OutputDataReceived += (_, line) => Add(_output, line.Data);
        process.ErrorDataReceived += (_, line) => Add(_errors, line.Data);
        process.BeginOutputReadLine();
        process.BeginErrorReadLine();
    }

    /// <summary>Everything that it has logged so far.</summary>
    internal string Output => Read(_output);

    internal string Errors => Read(_errors);

    /// <summary>Where it listens; known once it has said so.</summary>
    internal Uri Address => new(Listening().Match(Output).Groups[1].Value);

    /// <summary>Starts it on a free port.</summary>
    /// <param name="transport">The name of a <see cref="TransportBackend"/>.</param>
    /// <param name="wrapper">A command that runs the command after it.</param>
    internal static ServerProcess Start(TransportBackend transport, params string[] wrapper)
    {
        string[] command =
        [
            .. wrapper,
            "dotnet", Path.Combine(AppContext.BaseDirectory, "PlaintextServer.dll"),
            "--urls", "http://127.0.0.1:0",
            "--Transport", transport.ToString(),
        ];
        ProcessStartInfo start = new(command[0], command[1..]) { RedirectStandardOutput = true, RedirectStandardError = true };
        return new ServerProcess(Process.Start(start)!);
    }

    /// <summary>Waits until it serves, and gets something from it.</summary>
    internal async Task AssertServesAsync()
    {
        await SaidAsync("Now listening on: ");
        using HttpClient client = new() { BaseAddress = Address, Timeout = Deadline.Limit };
        Assert.Equal("Hello, World!", await client.GetStringAsync("/plaintext").InTime());
    }

    /// <summary>Waits until it has logged something.</summary>
    internal Task SaidAsync(string text) =>
        Deadline.UntilAsync(
            () => Output.Contains(text, StringComparison.Ordinal), () => $"It did not say '{text}': {Output} {Errors}", s_patience);

    /// <summary>Waits until it has ended by itself.</summary>
    /// <returns>Its exit code.</returns>
    internal async Task<int> ExitAsync()
    {
        await _process.WaitForExitAsync().WaitAsync(s_patience);
        return _process.ExitCode;
    }

    public async ValueTask DisposeAsync()
    {
        _process.Kill(entireProcessTree: true);
        await _process.WaitForExitAsync().InTime();
        _process.Dispose();
    }

    private void Add(StringBuilder text, string? line)
    {
        lock (_lock)
        {
            text.AppendLine(CultureInfo.InvariantCulture, $"{line}");
        }
    }

    private string Read(StringBuilder text)
    {
        lock (_lock)
        {
            return text.ToString();
        }
    }

    [GeneratedRegex(@"Now listening on: (http://\S+)")]
    private static partial Regex Listening();
}
