using CachingService.Tests.Infrastructure;
using CachingService.Tests.Storage;
using IoUringCache.Caching.Options;
using IoUringCache.Caching.Serving;
using IoUringCache.Caching.Storage;
using IoUringCache.Caching.Telemetry;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Http.Features;
using Microsoft.Extensions.Logging.Abstractions;

namespace CachingService.Tests.Serving;

/// <summary>A reader that has much to catch up with lets the others go on in between, also where every write succeeds at once.</summary>
public sealed class TurnTests
{
    [Theory]
    [InlineData(false)]
    [InlineData(true)]
    public async Task Replay_OfALongBody_GivesWayAfterATurn(bool isComplete)
    {
        const int TurnBytes = 64 * 1024;
        const int Length = 8 * 1024 * 1024;
        CachedObject cached = TestObjects.Create(length: null);
        while (cached.Body.Length < Length)
        {
            int count = cached.Body.GetFreeMemory().Length;
            cached.Body.Append(count);
        }

        if (isComplete)
        {
            cached.Body.Finish(BodyEnd.Complete);
        }

        // Everything that the first turn does it does in the call, on this thread.
        int thread = Environment.CurrentManagedThreadId;
        long passed = 0;
        ObjectReader? watched = null;
        using ObjectReader reader = watched = new(cached, () =>
        {
            if (Environment.CurrentManagedThreadId == thread)
            {
                passed = watched!.Position;
            }
        });
        CountingStream sent = new();
        DefaultHttpContext context = new();
        context.Features.Set<IHttpResponseBodyFeature>(new StreamResponseBodyFeature(sent));
        using CacheMetrics metrics = new();
        LiveOptions options = new(Heads.OptionsOf());
        using ReaderRateMonitor rates = new(options, metrics, new FakeTime(), NullLogger<ReaderRateMonitor>.Instance);
        Task sending = new ResponseWriter(metrics, options, new Proxy("Test"), rates).SendBodyAsync(context, reader);
        long firstTurn = passed;

        Assert.InRange(firstTurn, TurnBytes, 2 * TurnBytes);
        await Eventually.TrueAsync(() => reader.Position == cached.Body.StoredLength, "all is read");
        if (!isComplete)
        {
            Assert.False(sending.IsCompleted);
            cached.Body.Finish(BodyEnd.Complete);
        }

        await sending.WaitAsync(Patience.Limit, TestContext.Current.CancellationToken);
        Assert.Equal(cached.Body.Length, sent.Length);
    }

    private sealed class CountingStream : Stream
    {
        private long _length;

        public override bool CanRead => false;

        public override bool CanSeek => false;

        public override bool CanWrite => true;

        public override long Length => Volatile.Read(ref _length);

        public override long Position { get => Length; set => throw new NotSupportedException(); }

        public override void Flush()
        {
        }

        public override Task FlushAsync(CancellationToken cancellationToken) => Task.CompletedTask;

        public override int Read(byte[] buffer, int offset, int count) => throw new NotSupportedException();

        public override long Seek(long offset, SeekOrigin origin) => throw new NotSupportedException();

        public override void SetLength(long value) => throw new NotSupportedException();

        public override void Write(byte[] buffer, int offset, int count) => Interlocked.Add(ref _length, count);

        public override ValueTask WriteAsync(ReadOnlyMemory<byte> buffer, CancellationToken cancellationToken = default)
        {
            Interlocked.Add(ref _length, buffer.Length);
            return default;
        }
    }
}
