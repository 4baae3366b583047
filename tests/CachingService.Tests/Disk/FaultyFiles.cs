using IoUringCache.Caching.Disk;
using Microsoft.Win32.SafeHandles;

namespace CachingService.Tests.Disk;

/// <summary>A ring whose reads and writes fail, stop short or wait when a test says so.</summary>
internal sealed class FaultyFiles : IFileQueue, IAsyncDisposable
{
    private readonly FileRing _files;

    private FaultyFiles(FileRing files) => _files = files;

    public FileFaults Segments { get; } = new();

    public FileFaults Journal { get; } = new();

    /// <summary>Most bytes of one operation.</summary>
    public int Most { get; set; } = int.MaxValue;

    public static async Task<FaultyFiles> StartAsync() => new(await FileRing.StartAsync());

    public async Task<int> ReadAsync(SafeFileHandle file, Memory<byte> pinned, long offset)
    {
        FileFaults faults = FaultsOf(file);
        await faults.BeforeRead(offset);
        return faults.OnRead(offset) is { } error ? -(int)error : await _files.ReadAsync(file, pinned[..Math.Min(Most, pinned.Length)], offset);
    }

    public async Task<int> WriteAsync(SafeFileHandle file, ReadOnlyMemory<byte> pinned, long offset)
    {
        FileFaults faults = FaultsOf(file);
        faults.Wrote();
        await faults.BeforeWrite(offset);
        return faults.OnWrite(offset) is { } error ? -(int)error : await _files.WriteAsync(file, pinned[..Math.Min(Most, pinned.Length)], offset);
    }

    public ValueTask DisposeAsync() => _files.DisposeAsync();

    private FileFaults FaultsOf(SafeFileHandle file)
    {
        string path = new FileInfo($"/proc/self/fd/{file.DangerousGetHandle()}").LinkTarget!;
        return Path.GetFileName(path) == "purges" ? Journal : Segments;
    }
}
