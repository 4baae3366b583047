using CachingService.Tests.Infrastructure;
using IoUringCache.Caching.Storage;
using IoUringCache.Ring.Files;

namespace CachingService.Tests.Storage;

/// <summary>Which bodies move to files and when, and that their bytes are the same there.</summary>
public sealed class BodyMemoryTests
{
    private const int Many = ObjectBody.HitsBeforeFiles;
    private const int Chunk = ObjectBody.LargestChunk;
    private const int Smallest = BodyMemory.SmallestFile;
    private const int Largest = BodyMemory.LargestFile;

    [Theory]
    [InlineData(Smallest, Smallest)]
    [InlineData(1_345_292, 1_345_292)]
    [InlineData(Largest + Smallest - 1, Largest)]
    [InlineData(Largest + Smallest, Largest + Smallest)]
    [InlineData((3 * Largest) + 1, 3 * Largest)]
    public async Task BodyThatManyWant_MovesToFilesUpToALastPieceThatIsTooSmall(int length, int inFiles)
    {
        byte[] bytes = new byte[length];
        new Random(length).NextBytes(bytes);
        CachedObject cached = Fill(bytes, length, new(maxStoredBytes: 1 << 28));
        using ObjectReader reader = new(cached);
        Assert.True(reader.TryRead(limit: Chunk + 1000, out _));

        Hit(cached, Many - 1);
        Assert.Equal(0, CountInFiles(cached));
        Hit(cached, 1);
        await UntilMovedAsync(cached, inFiles);

        Assert.Equal(length, cached.Body.CapacityBytes);
        Assert.All(cached.Body.Pieces.SkipLast(1), piece => Assert.Equal(Chunk, piece.Length));
        Assert.True(bytes.AsSpan().SequenceEqual(cached.Body.Pieces.SelectMany(piece => piece.ToArray()).ToArray()));

        // Who came before goes on in the arrays, and may go back.
        Assert.Equal(bytes[Chunk..], ReadRest(reader)); // Its first read ended with its chunk.
        Assert.True(reader.TrySkipTo(1));
        Assert.Equal(bytes[1..], ReadRest(reader));
    }

    [Theory]
    [InlineData(Smallest - 1)]
    [InlineData(0)]
    public void SmallBody_StaysInItsArray(int length)
    {
        CachedObject cached = Fill(new byte[length], length, new(maxStoredBytes: 1 << 28));
        Chunk first = cached.Body.First;

        Hit(cached, 10 * Many);

        Assert.Same(first, cached.Body.First);
    }

    [Fact]
    public void BodyInFrames_StaysInItsArrays()
    {
        CachedObject cached = Fill(new byte[Largest], length: null, new(maxStoredBytes: 1 << 28));
        Chunk first = cached.Body.First;

        Hit(cached, 10 * Many);

        Assert.Same(first, cached.Body.First);
    }

    [Theory]
    [InlineData(2L << 30, Smallest, true)]
    [InlineData(4L << 30, Smallest, false)]
    [InlineData(4L << 30, 2 * Smallest, true)]
    [InlineData(16L << 30, Largest, true)]
    [InlineData(32L << 30, Largest, false)]
    public void LargeStore_HasFilesForLargerBodiesOnly(long maxStoredBytes, int missing, bool isFile) =>
        Assert.Equal(isFile ? missing : 0, new BodyMemory(maxStoredBytes).TryFile(missing).Length);

    [Fact]
    public async Task StoreThatBecomesLarger_HasFilesForLargerBodiesOnlyFromThenOn()
    {
        string settings = Path.GetTempFileName();
        try
        {
            await File.WriteAllTextAsync(settings, """{ "Cache": { "MaxBytes": "2GiB" } }""", TestContext.Current.CancellationToken);
            await using TestService service = await TestService.StartAsync(originUrl: "", $"--Settings={settings}");
            BodyMemory bodies = service.Host.Cache.Ledger.Bodies;
            Assert.Equal(Smallest, bodies.TryFile(Smallest).Length);

            await File.WriteAllTextAsync(settings, """{ "Cache": { "MaxBytes": "4GiB" } }""", TestContext.Current.CancellationToken);
            service.Host.Reload();

            Assert.Equal((0, 2 * Smallest), (bodies.TryFile(Smallest).Length, bodies.TryFile(2 * Smallest).Length));
        }
        finally
        {
            File.Delete(settings);
        }
    }

    [Fact]
    public void Arrays_HasNoFiles() => Assert.True(BodyMemory.Arrays.TryFile(Largest).IsEmpty);

    [Fact]
    public async Task Service_WhoseObjectMovesToFiles_GivesTheSameBytes()
    {
        await using TestService service = await TestService.StartAsync(originUrl: "");
        service.Time.Advance(TimeProvider.System.GetUtcNow() - service.Time.GetUtcNow()); // By which the demo origin dates its answers.
        string target = $"/object/large?size={Smallest + 1000}";
        string filled = (await service.FetchAsync(target)).Body;

        Assert.Equal(Smallest + 1000, filled.Length);
        for (int hit = 0; hit < Many + 3; hit++)
        {
            Assert.Equal(filled, (await service.FetchAsync(target)).Body);
        }

        Assert.Equal(1, service.Host.Metrics.Fills);
    }

    private static void Hit(CachedObject cached, int times)
    {
        for (int hit = 0; hit < times; hit++)
        {
            cached.Body.OnHit();
        }
    }

    private static async Task UntilMovedAsync(CachedObject cached, int bytes)
    {
        long deadline = Environment.TickCount64 + (long)Patience.Limit.TotalMilliseconds;
        while (CountInFiles(cached) != bytes)
        {
            Assert.True(Environment.TickCount64 < deadline, $"{CountInFiles(cached)} bytes are in files.");
            await Task.Yield();
        }
    }

    private static byte[] ReadRest(ObjectReader reader)
    {
        List<byte> bytes = [];
        while (reader.TryRead(long.MaxValue, out ReadOnlyMemory<byte> piece))
        {
            bytes.AddRange(piece.Span);
        }

        return [.. bytes];
    }

    private static CachedObject Fill(byte[] bytes, long? length, BodyMemory memory)
    {
        CachedObject cached = TestObjects.Create(length, ledger: new() { Bodies = memory });
        for (int written = 0; written < bytes.Length;)
        {
            Memory<byte> free = cached.Body.GetFreeMemory();
            int count = Math.Min(free.Length, bytes.Length - written);
            bytes.AsSpan(written, count).CopyTo(free.Span);
            cached.Body.Append(count);
            written += count;
        }

        cached.Body.Trim();
        cached.Body.Finish(BodyEnd.Complete);
        return cached;
    }

    private static long CountInFiles(CachedObject cached) =>
        cached.Body.Pieces.Where(piece => FileMemory.TryFind(piece, out _, out _)).Sum(piece => (long)piece.Length);
}
