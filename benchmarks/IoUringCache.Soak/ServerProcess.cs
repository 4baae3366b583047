using System.Diagnostics;
using IoUringCache.Transport;

namespace IoUringCache.Soak;

/// <summary>The server as its clients' process sees it. One caller at a time.</summary>
internal sealed class ServerProcess : IAsyncDisposable
{
    private static readonly TimeSpan s_answerLimit = TimeSpan.FromSeconds(60);
    private static readonly TimeSpan s_settleLimit = TimeSpan.FromSeconds(60);

    private readonly Process _process;

    private ServerProcess(Process process) => _process = process;

    internal static ServerProcess Start(ApplicationScheduling scheduling)
    {
        ProcessStartInfo start = new(Environment.ProcessPath!) { RedirectStandardInput = true, RedirectStandardOutput = true };
        foreach (string argument in SoakServer.ArgumentsFor(scheduling))
        {
            start.ArgumentList.Add(argument);
        }

        return new ServerProcess(Process.Start(start)!);
    }

    /// <exception cref="SoakException">The server has ended, or does not answer.</exception>
    internal async Task<ServerReport> ReportAsync()
    {
        try
        {
            await _process.StandardInput.WriteLineAsync("report");
            string? line = await _process.StandardOutput.ReadLineAsync().WaitAsync(s_answerLimit);
            return ServerReport.Parse(line ?? throw new SoakException("The server has ended."));
        }
        catch (Exception exception) when (exception is IOException or TimeoutException)
        {
            throw new SoakException($"The server does not answer: {exception.Message}");
        }
    }

    /// <summary>The report that equals the one at the start, or after a while the one that still does not.</summary>
    internal async Task<ServerReport> SettleAsync(ServerReport start)
    {
        Stopwatch clock = Stopwatch.StartNew();
        ServerReport report = await ReportAsync();
        while (report.DifferencesFrom(start).Any() && clock.Elapsed < s_settleLimit)
        {
            await Task.Delay(500);
            report = await ReportAsync();
        }

        return report;
    }

    public async ValueTask DisposeAsync()
    {
        _process.StandardInput.Close();
        try
        {
            await _process.WaitForExitAsync().WaitAsync(s_answerLimit);
        }
        catch (TimeoutException)
        {
            _process.Kill();
        }

        _process.Dispose();
    }
}
