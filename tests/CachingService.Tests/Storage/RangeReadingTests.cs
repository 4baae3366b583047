using CachingService.Tests.Http;
using CachingService.Tests.Infrastructure;
using FsCheck;
using FsCheck.Fluent;
using IoUringCache.Caching.Http;
using IoUringCache.Caching.Storage;

namespace CachingService.Tests.Storage;

/// <summary>Readers that start and stop anywhere: whatever the pieces in which a body came, ranges of it are slices of it.</summary>
public sealed class RangeReadingTests
{
    /// <param name="Ranges">Of a body, and its length.</param>
    /// <param name="IsLengthKnown">Otherwise the body lies in frames.</param>
    /// <param name="Seed">Of bytes, of pieces, and of how much of the body is there when.</param>
    private sealed record ReadingCase(RangeCase Ranges, bool IsLengthKnown, int Seed);

    [Fact]
    public void Ranges_OfAnyBodyInAnyPieces_AreItsSlices()
    {
        Gen<ReadingCase> cases = from ranges in Gen.Frequency((2, RangeCases.Of(1_000)), (1, RangeCases.Of(300_000)))
                                 from isLengthKnown in Gen.Elements(true, false)
                                 from seed in Gen.Choose(0, int.MaxValue - 1)
                                 select new ReadingCase(ranges, isLengthKnown, seed);
        Seeded.Check(Arb.From(cases), readingCase => AssertSlices(readingCase));
    }

    [Fact]
    public void Reader_AheadOfTheEnd_PassesWhatComes()
    {
        MemoryLedger ledger = new();
        CachedObject cached = TestObjects.Create(length: null, ledger: ledger);
        using ObjectReader reader = new(cached);
        int steps = 0;
        using ObjectReader paced = new(cached, () => steps++);

        Assert.False(paced.TrySkipTo(150_000));
        for (int count = 0; count < 200; count++)
        {
            Write(cached.Body, new byte[1_000]);
            bool isThere = paced.TrySkipTo(150_000);
            Assert.Equal(count >= 149, isThere);
        }

        Assert.InRange(steps, 150, 200);
        Assert.True(paced.TryRead(10, out ReadOnlyMemory<byte> bytes));
        Assert.Equal(10, bytes.Length);
        Assert.Equal(0, reader.Position);
        Assert.InRange(paced.Position, 150_000, cached.Body.StoredLength);
        Assert.False(paced.IsAtLiveEnd);
        Assert.True(paced.TrySkipTo(200_000));
        Assert.True(paced.IsAtLiveEnd);
    }

    private static void AssertSlices(ReadingCase readingCase)
    {
        (int length, RangeSpec[] specs) = (readingCase.Ranges.Length, readingCase.Ranges.Specs);
        if (RangeField.Select(specs, length) is not { } ranges)
        {
            return;
        }

        Random random = new(readingCase.Seed);
        byte[] body = new byte[length];
        random.NextBytes(body);
        CachedObject cached = TestObjects.Create(readingCase.IsLengthKnown ? length : null);
        ByteRange[] ascending = [.. ranges.OrderBy(range => range.First)];
        using ObjectReader live = new(cached);
        List<byte[]> liveParts = new();
        int largest = random.Next(2) == 0 ? 20 : 20_000;
        MemoryStream part = new();
        for (int written = 0; written < length;)
        {
            int count = Math.Min(random.Next(1, largest), length - written);
            written += Write(cached.Body, body.AsSpan(written, count));
            ReadLive(live, ascending, liveParts, ref part);
        }

        cached.Body.Trim();
        cached.Body.Finish(BodyEnd.Complete);
        ReadLive(live, ascending, liveParts, ref part);
        Assert.Equal(ascending.Select(range => Slice(body, range)), liveParts);

        using ObjectReader late = new(cached);
        foreach (ByteRange range in ranges)
        {
            Assert.True(late.TrySkipTo(range.First));
            MemoryStream read = new();
            while (late.TryRead(range.Length - read.Length, out ReadOnlyMemory<byte> bytes))
            {
                read.Write(bytes.Span);
            }

            Assert.Equal(Slice(body, range), read.ToArray());
        }
    }

    /// <summary>Takes what it can get of the ranges that are not yet read.</summary>
    private static void ReadLive(ObjectReader reader, ByteRange[] ranges, List<byte[]> parts, ref MemoryStream part)
    {
        while (parts.Count < ranges.Length && (part.Length > 0 || reader.TrySkipTo(ranges[parts.Count].First)))
        {
            long length = ranges[parts.Count].Length;
            while (reader.TryRead(length - part.Length, out ReadOnlyMemory<byte> bytes))
            {
                part.Write(bytes.Span);
            }

            if (part.Length < length)
            {
                return;
            }

            parts.Add(part.ToArray());
            part = new();
        }
    }

    private static int Write(ObjectBody body, ReadOnlySpan<byte> bytes)
    {
        int count = Math.Min(body.GetFreeMemory().Length, bytes.Length);
        bytes[..count].CopyTo(body.GetFreeMemory().Span);
        body.Append(count);
        return count;
    }

    private static byte[] Slice(byte[] body, ByteRange range) => body.AsSpan((int)range.First, (int)range.Length).ToArray();
}
