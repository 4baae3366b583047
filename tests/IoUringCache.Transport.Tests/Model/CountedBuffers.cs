using IoUringCache.Transport.Internal.Buffers;

namespace IoUringCache.Transport.Tests.Model;

/// <summary>Receive buffers in the place of a loop's: they come back once each, and are overwritten then. Any thread.</summary>
internal sealed class CountedBuffers : IReceiveBufferOwner
{
    private readonly List<byte[]?> _acquired = [];
    private readonly Lock _lock = new();

    public int Weight => 1;

    /// <summary>Every third buffer finds them scarce, and is copied.</summary>
    public bool IsScarce => _acquired.Count % 3 == 0;

    internal int AcquiredCount
    {
        get
        {
            lock (_lock)
            {
                return _acquired.Count(buffer => buffer is not null);
            }
        }
    }

    /// <summary>A segment with these bytes, as if a completion had named its buffer.</summary>
    internal ReceivedSegment Acquire(ReadOnlySpan<byte> bytes)
    {
        byte[] buffer = bytes.ToArray();
        lock (_lock)
        {
            _acquired.Add(buffer);
            ReceivedSegment segment = new(this, _acquired.Count - 1);
            segment.Fill(buffer, buffer.Length);
            return segment;
        }
    }

    public void Release(int bufferId)
    {
        lock (_lock)
        {
            byte[] buffer = _acquired[bufferId] ?? throw new InvalidOperationException("The buffer has been released.");
            buffer.AsSpan().Fill(0xDD);
            _acquired[bufferId] = null;
        }
    }
}
