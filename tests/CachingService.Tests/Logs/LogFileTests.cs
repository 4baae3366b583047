using System.Text;
using CachingService.Logs;
using CachingService.Options;
using CachingService.Tests.Infrastructure;
using IoUringCache.Caching.Options;
using IoUringCache.Caching.Telemetry;
using Microsoft.AspNetCore.Http;
using Microsoft.Extensions.Logging.Abstractions;

namespace CachingService.Tests.Logs;

/// <summary>The file of the access log: where two processes write to it, as while one takes over from the other, and where it cannot be opened.</summary>
public sealed class LogFileTests : IDisposable
{
    private const int FullBytes = 4096;

    private readonly DirectoryInfo _directory = Directory.CreateTempSubdirectory();

    private string LogPath => Path.Combine(_directory.FullName, "access.log");

    public void Dispose() => _directory.Delete(recursive: true);

    [Fact]
    public async Task TwoWriters_LoseNoLine()
    {
        const int Lines = 5000;
        using LogFile one = new(Options(maxBytes: null));
        using LogFile other = new(Options(maxBytes: null));
        CancellationToken cancelled = TestContext.Current.CancellationToken;

        await Task.WhenAll(Task.Run(() => WriteAll(one, 1), cancelled), Task.Run(() => WriteAll(other, 2), cancelled)).WaitAsync(Patience.Limit, cancelled);

        Assert.Equal(
            [.. TextsOf(1), .. TextsOf(2)],
            (await File.ReadAllLinesAsync(LogPath, cancelled)).Order(StringComparer.Ordinal));

        static IEnumerable<string> TextsOf(int writer) => Enumerable.Range(0, Lines).Select(line => $"{writer} {line:d4}");

        static void WriteAll(LogFile file, int writer)
        {
            foreach (string text in TextsOf(writer))
            {
                file.Write(Encoding.ASCII.GetBytes(text + "\n"));
            }
        }
    }

    [Fact]
    public void FullFile_ThatAnotherWriterHasMovedAway_IsNotOverwritten()
    {
        using LogFile one = new(Options(FullBytes));
        using LogFile other = new(Options(FullBytes));
        string full = new string('x', FullBytes - 1) + "\n";

        one.Write(Encoding.ASCII.GetBytes(full));
        one.Write("a\n"u8);
        other.Write("b\n"u8);

        Assert.Equal(full, File.ReadAllText(LogPath + ".1"));
        Assert.Equal("a\nb\n", File.ReadAllText(LogPath));
    }

    [Fact]
    public async Task File_ThatCannotBeBegunAnew_HasNotLostWhatTheOldOneHas()
    {
        string old = LogPath + ".old";
        AccessLogOptions options = Options(maxBytes: null);
        using CacheMetrics metrics = new();
        using MetricsCollector collector = new(metrics);
        await using (AccessLog log = new(new LogFile(options), options, static () => PeerList.Parse(""), metrics, NullLogger.Instance))
        {
            await log.InvokeAsync(new DefaultHttpContext(), static _ => Task.CompletedTask);
            File.Move(LogPath, old);
            Directory.CreateDirectory(LogPath);
            log.Reopen();
        }

        Assert.Single(File.ReadLines(old));
        Assert.Equal((1, 0), (Read("access_log_lines_total"), Read("access_log_lines_dropped_total")));

        double Read(string name) => collector.Read().Single(figure => figure.Name == name).Value;
    }

    private AccessLogOptions Options(long? maxBytes) => new(LogPath, AccessLogFormat.Json, maxBytes, KeepFiles: 1, QueueBytes: 131072);
}
