using System.Buffers;
using System.Threading.Channels;
using IoUringCache.Caching.Http1;

namespace IoUringCache.Caching.Tests.Http1;

/// <summary>The body of a request, of pieces that a test hands over one by one. One request's.</summary>
/// <param name="length">As it is told to the peer.</param>
internal sealed class FakeBody(long? length) : IRequestBody
{
    private readonly Channel<byte[]> _pieces = Channel.CreateUnbounded<byte[]>(new() { AllowSynchronousContinuations = true });

    public long? Length => length;

    /// <summary>Whether all was written.</summary>
    public bool HasEnded { get; private set; }

    /// <summary>Whether the target took no more.</summary>
    public bool IsRefused { get; private set; }

    public FakeBody Add(string piece) => Add(Latin1Text.Bytes(piece));

    public FakeBody Add(byte[] piece)
    {
        Assert.True(_pieces.Writer.TryWrite(piece));
        return this;
    }

    public FakeBody End(Exception? failure = null)
    {
        _pieces.Writer.Complete(failure);
        return this;
    }

    public async Task CopyToAsync(IBodyTarget target, IWaitClock clock)
    {
        while (true)
        {
            clock.Stop();
            if (!await _pieces.Reader.WaitToReadAsync())
            {
                clock.Restart();
                HasEnded = true;
                return;
            }

            clock.Restart();
            Assert.True(_pieces.Reader.TryRead(out byte[]? piece));
            bool isTaken = await target.WriteAsync(new ReadOnlySequence<byte>(piece));
            if (!isTaken)
            {
                IsRefused = true;
                return;
            }
        }
    }
}
