using CachingService.Tests.Infrastructure;
using IoUringCache.Caching.Load;
using IoUringCache.Caching.Storage;

namespace CachingService.Tests.Storage;

/// <summary>Chunk list and readers: whatever the pieces and the interleaving, every reader gets the bytes that were written.</summary>
public sealed class ObjectBodyTests
{
    [Theory]
    [InlineData(1)]
    [InlineData(2)]
    [InlineData(3)]
    [InlineData(4)]
    public async Task Readers_JoiningAtAnyMoment_GetTheSameBytes(int seed)
    {
        Random random = new(seed);
        for (int round = 0; round < 20; round++)
        {
            byte[] bytes = new byte[random.Next(0, 400_000)];
            random.NextBytes(bytes);
            CachedObject cached = TestObjects.Create(random.Next(2) == 0 ? bytes.Length : null);
            ObjectBody body = cached.Body;
            List<Task<byte[]>> readers = new() { ReadAllAsync(new ObjectReader(cached)), ReadFramesAsync(new ObjectReader(cached)) };
            for (int written = 0; written < bytes.Length;)
            {
                Memory<byte> free = body.GetFreeMemory();
                int count = Math.Min(random.Next(1, free.Length + 1), bytes.Length - written);
                bytes.AsSpan(written, count).CopyTo(free.Span);
                body.Append(count);
                written += count;
                if (random.Next(3) == 0)
                {
                    body.Announce();
                }

                if (random.Next(8) == 0)
                {
                    readers.Add(ReadAllAsync(new ObjectReader(cached)));
                    readers.Add(ReadFramesAsync(new ObjectReader(cached)));
                }
            }

            body.Trim();
            readers.Add(ReadAllAsync(new ObjectReader(cached)));
            body.Finish(BodyEnd.Complete);
            readers.Add(ReadAllAsync(new ObjectReader(cached)));

            foreach (Task<byte[]> reader in readers)
            {
                byte[] read = await reader.WaitAsync(Patience.Limit, TestContext.Current.CancellationToken);
                Assert.True(bytes.AsSpan().SequenceEqual(read), $"seed {seed}, round {round}");
            }

            Assert.Equal(bytes.Length, body.Length);
            if (!body.IsFramed)
            {
                Assert.Equal(bytes.Length, body.CapacityBytes);
            }
        }
    }

    [Fact]
    public async Task BrokenBody_GivesWhatCameAndThenThrows()
    {
        CachedObject cached = TestObjects.Create(length: 10);
        using ObjectReader reader = new(cached);
        cached.Body.GetFreeMemory();
        cached.Body.Append(4);
        cached.Body.Finish(BodyEnd.Broken);

        Assert.True(await reader.WaitToReadAsync(ThreadPoolScheduler.Instance, TestContext.Current.CancellationToken));
        Assert.True(reader.TryRead(long.MaxValue, out ReadOnlyMemory<byte> bytes));
        Assert.Equal(4, bytes.Length);
        await Assert.ThrowsAsync<BrokenBodyException>(() => reader.WaitToReadAsync(ThreadPoolScheduler.Instance, TestContext.Current.CancellationToken).AsTask());
    }

    [Fact]
    public async Task ForgottenStart_StaysReadableForThoseWhoHaveIt()
    {
        CachedObject cached = TestObjects.Create(length: null);
        using ObjectReader reader = new(cached);
        for (int count = 0; count < 1000; count++)
        {
            cached.Body.GetFreeMemory().Span[0] = (byte)count;
            cached.Body.Append(1);
            if (count == 500)
            {
                cached.Body.ForgetStart();
            }
        }

        cached.Body.Trim();
        cached.Body.Finish(BodyEnd.Complete);

        Assert.Equal(Enumerable.Range(0, 1000).Select(number => (byte)number), await ReadAllAsync(reader));
        Assert.Throws<InvalidOperationException>(() => new ObjectReader(cached));
    }

    /// <summary>Reads by frames, where the body has them, and takes them off as a client would.</summary>
    private static async Task<byte[]> ReadFramesAsync(ObjectReader reader)
    {
        await Task.Yield();
        using (reader)
        {
            MemoryStream all = new();
            while (await reader.WaitToReadAsync(ThreadPoolScheduler.Instance, TestContext.Current.CancellationToken))
            {
                while (reader.TryReadFrames(out ReadOnlyMemory<byte> frames))
                {
                    while (!frames.IsEmpty)
                    {
                        ReadOnlyMemory<byte> bytes = reader.Object.Body.IsFramed ? ChunkFrame.BytesOfFirst(frames) : frames;
                        all.Write(bytes.Span);
                        frames = frames[(bytes.Length + (reader.Object.Body.IsFramed ? ChunkFrame.Overhead : 0))..];
                    }
                }
            }

            return all.ToArray();
        }
    }

    private static async Task<byte[]> ReadAllAsync(ObjectReader reader)
    {
        await Task.Yield();
        using (reader)
        {
            MemoryStream all = new();
            while (await reader.WaitToReadAsync(ThreadPoolScheduler.Instance, TestContext.Current.CancellationToken))
            {
                while (reader.TryRead(long.MaxValue, out ReadOnlyMemory<byte> bytes))
                {
                    all.Write(bytes.Span);
                }
            }

            Assert.Equal(reader.Object.Body.StoredLength, reader.Position);
            return all.ToArray();
        }
    }
}
