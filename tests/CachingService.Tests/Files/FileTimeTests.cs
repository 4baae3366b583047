using System.Diagnostics;
using System.Globalization;
using CachingService.Tests.Infrastructure;
using IoUringCache.Caching.Files;
using IoUringCache.Caching.Http;
using IoUringCache.Ring;

namespace CachingService.Tests.Files;

/// <summary>Files whose time of the last change is beyond the years that a date can have, as some file systems allow.</summary>
public sealed class FileTimeTests : IDisposable
{
    private readonly string _folder = $"/dev/shm/{Guid.NewGuid()}";

    public FileTimeTests() => Directory.CreateDirectory(_folder);

    [Theory]
    [InlineData("300000000000")]
    [InlineData("-100000000000")]
    public void File_IsServedAllTheSame(string seconds)
    {
        string path = Path.Combine(_folder, "a");
        File.WriteAllText(path, "x");
        Run("touch", "-d", $"@{seconds}", path);
        Assert.SkipUnless(Run("stat", "-c", "%Y", path).Trim() == seconds, "The file system has no such time.");
        FakeTime time = new();
        using ServedDirectory directory = ServedDirectory.Open(_folder, time);

        Errno error = directory.TryOpen(new("a", ContentCoding.Identity), out ServedFile? file);

        Assert.Equal(Errno.None, error);
        using (file)
        {
            Assert.InRange(DateTimeOffset.Parse(file!.Head.LastModified, CultureInfo.InvariantCulture), DateTimeOffset.MinValue, time.GetUtcNow());
        }
    }

    public void Dispose() => Directory.Delete(_folder, recursive: true);

    private static string Run(string command, params string[] arguments)
    {
        using Process process = Process.Start(new ProcessStartInfo(command, arguments) { RedirectStandardOutput = true })!;
        string output = process.StandardOutput.ReadToEnd();
        Assert.True(process.WaitForExit(Patience.Limit));
        return output;
    }
}
