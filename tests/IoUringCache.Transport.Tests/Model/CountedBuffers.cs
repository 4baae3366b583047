using IoUringCache.Transport.Internal.Buffers;

namespace IoUringCache.Transport.Tests.Model;

/// <summary>Receive buffers in the place of a loop's: they come back once each, and are overwritten then. Any thread.</summary>
internal sealed class CountedBuffers : IReceiveBufferOwner
{
    private readonly List<byte[]?> _lent = [];
    private readonly Lock _lock = new();

    public int CountsAs => 1;

    /// <summary>Every third buffer finds them scarce, and is copied.</summary>
    public bool IsScarce => _lent.Count % 3 == 0;

    internal int LentCount
    {
        get
        {
            lock (_lock)
            {
                return _lent.Count(buffer => buffer is not null);
            }
        }
    }

    /// <summary>A segment with these bytes, as if a completion had named its buffer.</summary>
    internal ReceivedSegment Lend(ReadOnlySpan<byte> bytes)
    {
        byte[] buffer = bytes.ToArray();
        lock (_lock)
        {
            _lent.Add(buffer);
            ReceivedSegment segment = new(this, _lent.Count - 1);
            segment.Fill(buffer, buffer.Length);
            return segment;
        }
    }

    public void Return(int bufferId)
    {
        lock (_lock)
        {
            byte[] buffer = _lent[bufferId] ?? throw new InvalidOperationException("The buffer has been returned.");
            buffer.AsSpan().Fill(0xDD);
            _lent[bufferId] = null;
        }
    }
}
