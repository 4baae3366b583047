using System.IO.MemoryMappedFiles;

namespace IoUringCache.RandomRead;

/// <summary>A copy out of a mapping of the whole file. One thread.</summary>
internal sealed class MappedReads : IReadMethod
{
    private readonly MemoryMappedFile _file;
    private readonly MemoryMappedViewAccessor _view;

    public MappedReads(string path)
    {
        _file = MemoryMappedFile.CreateFromFile(path, FileMode.Open, mapName: null, capacity: 0, MemoryMappedFileAccess.Read);
        _view = _file.CreateViewAccessor(0, 0, MemoryMappedFileAccess.Read);
    }

    public void Read(ReadOnlySpan<long> offsets, ReadOnlySpan<Memory<byte>> blocks)
    {
        for (int index = 0; index < offsets.Length; index++)
        {
            _view.SafeMemoryMappedViewHandle.ReadSpan((ulong)offsets[index], blocks[index].Span);
        }
    }

    public void Dispose()
    {
        _view.Dispose();
        _file.Dispose();
    }
}
