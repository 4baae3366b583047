using CachingService.Disk;
using IoUringCache.Ring;
using Microsoft.Win32.SafeHandles;

namespace CachingService.Tests.Disk;

/// <summary>A ring whose reads and writes fail, stop short or wait when a test says so.</summary>
internal sealed class FaultyFiles : IFileQueue, IAsyncDisposable
{
    private readonly FileRing _files;

    private FaultyFiles(FileRing files) => _files = files;

    /// <summary>Of a read at an offset: an error, or null.</summary>
    public Func<long, Errno?> OnRead { get; set; } = static _ => null;

    /// <summary>Of a write at an offset: an error, or null.</summary>
    public Func<long, Errno?> OnWrite { get; set; } = static _ => null;

    /// <summary>Most bytes of one operation.</summary>
    public int Most { get; set; } = int.MaxValue;

    /// <summary>Of a read at an offset: what it waits for before it is done.</summary>
    public Func<long, Task> BeforeRead { get; set; } = static _ => Task.CompletedTask;

    /// <summary>Of a write at an offset: what it waits for before it is done.</summary>
    public Func<long, Task> BeforeWrite { get; set; } = static _ => Task.CompletedTask;

    public static async Task<FaultyFiles> StartAsync() => new(await FileRing.StartAsync());

    public async Task<int> ReadAsync(SafeFileHandle file, Memory<byte> pinned, long offset)
    {
        await BeforeRead(offset);
        return OnRead(offset) is { } error ? -(int)error : await _files.ReadAsync(file, pinned[..Math.Min(Most, pinned.Length)], offset);
    }

    public async Task<int> WriteAsync(SafeFileHandle file, ReadOnlyMemory<byte> pinned, long offset)
    {
        await BeforeWrite(offset);
        return OnWrite(offset) is { } error ? -(int)error : await _files.WriteAsync(file, pinned[..Math.Min(Most, pinned.Length)], offset);
    }

    public ValueTask DisposeAsync() => _files.DisposeAsync();
}
