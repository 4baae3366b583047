namespace CachingService.Logs;

/// <summary>
/// Lines on their way from many threads to one that writes them, in two buffers: one is filled while the other is written. A line that has no
/// room is dropped and counted, so no thread ever waits for the writer. Any thread adds; one takes.
/// </summary>
/// <param name="capacity">Bytes of both together.</param>
internal sealed class LineBuffer(int capacity)
{
    private readonly Lock _lock = new();
    private byte[] _filling = new byte[capacity / 2];
    private byte[] _writing = new byte[capacity / 2];
    private int _used;
    private int _lines;
    private long _dropped;

    /// <summary>Lines that had no room, since the start.</summary>
    public long Dropped => Volatile.Read(ref _dropped);

    /// <param name="line">With its end.</param>
    /// <returns>Whether it is the first since the writer has taken some, so that the writer has to be told.</returns>
    public bool Add(ReadOnlySpan<byte> line)
    {
        lock (_lock)
        {
            if (line.Length > _filling.Length - _used)
            {
                _dropped++;
                return false;
            }

            line.CopyTo(_filling.AsSpan(_used));
            _used += line.Length;
            return _lines++ == 0;
        }
    }

    /// <summary>All that have come since the last time.</summary>
    /// <returns>Theirs until the next call.</returns>
    public ReadOnlyMemory<byte> Take(out int count)
    {
        lock (_lock)
        {
            (_filling, _writing) = (_writing, _filling);
            ReadOnlyMemory<byte> lines = _writing.AsMemory(0, _used);
            (count, _lines, _used) = (_lines, 0, 0);
            return lines;
        }
    }
}
