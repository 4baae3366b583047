using System.Text;
using IoUringCache.Caching.Http;
using IoUringCache.Caching.Storage;
using Microsoft.Extensions.Primitives;

namespace IoUringCache.Caching.Disk;

/// <summary>What the header of an object says: all that is needed to serve it, and the checksums of its body. Immutable; any thread.</summary>
internal sealed record DiskRecord
{
    /// <summary>What lasts longer lasts as long as this, so that no date is passed that there is.</summary>
    private static readonly TimeSpan s_century = TimeSpan.FromDays(36500);

    public required string Key { get; init; }

    public required string VariantKey { get; init; }

    /// <summary>With the length of the body, also where the origin had not told it.</summary>
    public required ResponseHead Head { get; init; }

    /// <summary>Wall clock: the service's own does not outlive it.</summary>
    public required DateTime WrittenAt { get; init; }

    /// <summary>When it was written.</summary>
    public required TimeSpan Age { get; init; }

    /// <summary>As judged when it came; options that have changed since count for what comes anew.</summary>
    public required TimeSpan Lifetime { get; init; }

    public required TimeSpan KeptFor { get; init; }

    public required TimeSpan StaleWhileRevalidate { get; init; }

    public required TimeSpan StaleIfError { get; init; }

    public required bool MayBeStale { get; init; }

    /// <summary>Of <see cref="PurgeStamp"/>, which does not outlive the process; the prefixes follow from the key.</summary>
    public required string[] Tags { get; init; }

    /// <summary>CRC-32C of each piece of the body.</summary>
    public required uint[] PieceChecksums { get; init; }

    public long BodyBytes => Head.ContentLength!.Value;

    /// <summary>From then on it is of no use, fresh or stale.</summary>
    public DateTime KeptUntil => WrittenAt + (UseLeft < s_century ? UseLeft : s_century);

    private TimeSpan UseLeft => Lifetime - Age + KeptFor;

    /// <summary>
    /// Whether a header can hold all texts of an object. It has one byte for each character; of one beyond that it would have another that looks
    /// alike, so that one key or variant would pass for another one.
    /// </summary>
    public static bool CanHold(CachedObject entry) => IsLatin1(entry.Key)
        && IsLatin1(entry.VariantKey)
        && entry.Stamp.TagNames.All(IsLatin1)
        && entry.Head.Fields.All(static field => IsLatin1(field.Name) && field.Values.All(IsLatin1));

    /// <summary>Describes an object whose body is whole; the checksums are to be filled in.</summary>
    public static DiskRecord Of(CachedObject entry, DateTime now) => new()
    {
        Key = entry.Key,
        VariantKey = entry.VariantKey,
        Head = new(entry.Head.StatusCode, entry.Head.Fields, entry.Body.Length),
        WrittenAt = now,
        Age = entry.Age,
        Lifetime = entry.Verdict.Lifetime,
        KeptFor = entry.Verdict.KeptFor,
        StaleWhileRevalidate = entry.Verdict.StaleWhileRevalidate,
        StaleIfError = entry.Verdict.StaleIfError,
        MayBeStale = entry.Verdict.MayBeStale,
        Tags = [.. entry.Stamp.TagNames],
        PieceChecksums = new uint[DiskLayout.PieceCount(entry.Body.Length)],
    };

    /// <summary>It ages on the disk as well.</summary>
    public TimeSpan AgeAt(DateTime now) => Age + (now - WrittenAt);

    /// <summary>What the service may do with it now.</summary>
    public SharingVerdict VerdictAt(DateTime now) => new(Refusal: null, Lifetime, IsFreshWhileArriving: false)
    {
        InitialAge = AgeAt(now),
        Vary = VaryRule.Of(Head) ?? VaryRule.None,
        KeptFor = KeptFor,
        StaleWhileRevalidate = StaleWhileRevalidate,
        StaleIfError = StaleIfError,
        MayBeStale = MayBeStale,
    };

    /// <summary>A header in whole blocks, in pinned memory, that has yet to be sealed. Its length does not depend on the checksums.</summary>
    public byte[] Encode()
    {
        MemoryStream stream = new();
        using BinaryWriter writer = new(stream, Encoding.Latin1);
        stream.Position = RecordFrame.Bytes;
        writer.Write(Key);
        writer.Write(VariantKey);
        writer.Write(Head.StatusCode);
        writer.Write(BodyBytes);
        writer.Write(WrittenAt.Ticks);
        WriteSpans(writer, Age, Lifetime, KeptFor, StaleWhileRevalidate, StaleIfError);
        writer.Write(MayBeStale);
        writer.Write(Tags.Length);
        Array.ForEach(Tags, writer.Write);
        writer.Write(Head.Fields.Length);
        foreach (HeaderField field in Head.Fields)
        {
            writer.Write(field.Name);
            writer.Write(field.Values.Count);
            foreach (string? value in field.Values)
            {
                writer.Write(value ?? "");
            }
        }

        foreach (uint checksum in PieceChecksums)
        {
            writer.Write(checksum);
        }

        byte[] header = GC.AllocateArray<byte>((int)DiskLayout.InBlocks(stream.Length), pinned: true);
        stream.GetBuffer().AsSpan(0, (int)stream.Length).CopyTo(header);
        return header;
    }

    /// <summary>Reads a whole header that is sound, and so was written by <see cref="Encode"/>.</summary>
    public static DiskRecord Decode(byte[] header)
    {
        using BinaryReader reader = new(new MemoryStream(header), Encoding.Latin1);
        reader.BaseStream.Position = RecordFrame.Bytes;
        (string key, string variantKey) = (reader.ReadString(), reader.ReadString());
        (int status, long bodyBytes) = (reader.ReadInt32(), reader.ReadInt64());
        DateTime writtenAt = new(reader.ReadInt64(), DateTimeKind.Utc);
        TimeSpan[] spans = [.. Enumerable.Range(0, 5).Select(_ => new TimeSpan(reader.ReadInt64()))];
        bool mayBeStale = reader.ReadBoolean();
        string[] tags = [.. Enumerable.Range(0, reader.ReadInt32()).Select(_ => reader.ReadString())];
        HeaderField[] fields = new HeaderField[reader.ReadInt32()];
        for (int index = 0; index < fields.Length; index++)
        {
            string name = reader.ReadString();
            string[] values = new string[reader.ReadInt32()];
            for (int line = 0; line < values.Length; line++)
            {
                values[line] = reader.ReadString();
            }

            fields[index] = new(name, new StringValues(values));
        }

        return new()
        {
            Key = key,
            VariantKey = variantKey,
            Head = new(status, [.. fields], bodyBytes),
            WrittenAt = writtenAt,
            Age = spans[0],
            Lifetime = spans[1],
            KeptFor = spans[2],
            StaleWhileRevalidate = spans[3],
            StaleIfError = spans[4],
            MayBeStale = mayBeStale,
            Tags = tags,
            PieceChecksums = [.. Enumerable.Range(0, DiskLayout.PieceCount(bodyBytes)).Select(_ => reader.ReadUInt32())],
        };
    }

    private static bool IsLatin1(string? text) => !text.AsSpan().ContainsAnyExceptInRange('\0', '\u00FF');

    private static void WriteSpans(BinaryWriter writer, params ReadOnlySpan<TimeSpan> spans)
    {
        foreach (TimeSpan span in spans)
        {
            writer.Write(span.Ticks);
        }
    }
}
