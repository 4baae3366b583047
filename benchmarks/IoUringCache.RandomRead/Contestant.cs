using IoUringCache.Ring.Files;
using Microsoft.Win32.SafeHandles;

namespace IoUringCache.RandomRead;

/// <summary>A method by its name. Immutable.</summary>
/// <param name="Name">As in the table.</param>
/// <param name="IsDirect">Whether it reads past the page cache.</param>
/// <param name="Make">Of a file, open as it wants it, and the memory of a batch.</param>
internal sealed record Contestant(string Name, bool IsDirect, Func<DataFile, SafeFileHandle, Memory<byte>[], IReadMethod> Make)
{
    public static IReadOnlyList<Contestant> All { get; } =
    [
        new("read", false, (_, file, _) => new SeekingReads(file)),
        new("pread", false, (_, file, _) => new PositionedReads(file)),
        new("mmap", false, (data, _, _) => new MappedReads(data.FilePath)),
        new("ring", false, (_, file, blocks) => new RingReads(file, blocks, isRegistered: false, isPolling: false)),
        new("ring, registered", false, (_, file, blocks) => new RingReads(file, blocks, isRegistered: true, isPolling: false)),
        new("direct pread", true, (_, file, _) => new PositionedReads(file)),
        new("direct ring", true, (_, file, blocks) => new RingReads(file, blocks, isRegistered: false, isPolling: false)),
        new("direct ring, registered", true, (_, file, blocks) => new RingReads(file, blocks, isRegistered: true, isPolling: false)),
        new("direct ring, IOPOLL", true, (_, file, blocks) => new RingReads(file, blocks, isRegistered: false, isPolling: true)),
    ];

    /// <summary>Measures it with one file and one size of a batch: figures, or why there are none.</summary>
    public string Measure(DataFile data, int batch, TimeSpan time)
    {
        using SafeFileHandle? file = data.Open(IsDirect);
        if (file is null)
        {
            return "this file system has no O_DIRECT";
        }

        // One piece for each block: a page is what O_DIRECT wants, and what can be registered.
        FileMemory[] memory = [.. Enumerable.Range(0, batch).Select(_ => FileMemory.Create("block", data.BlockBytes))];
        Memory<byte>[] blocks = [.. memory.Select(piece => piece.Memory)];
        try
        {
            using IReadMethod method = Make(data, file, blocks);
            return Measurement.Run(data, method, blocks, time);
        }
        catch (IOException failure)
        {
            return failure.Message.Replace(',', ';');
        }
        finally
        {
            foreach (IDisposable piece in memory)
            {
                piece.Dispose();
            }
        }
    }
}
