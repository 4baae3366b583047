using System.Globalization;
using System.Security.Cryptography;
using Microsoft.Net.Http.Headers;

namespace IoUringCache.Caching.Http;

/// <summary>
/// What the first slice of a body knows of all of it. It is a field of the stored head, under a name that no response can have, so it is kept wherever the
/// head is, and stays when the origin confirms that. The other slices are objects of their own, under keys that only this mark leads to: without their
/// first slice, which was purged or has changed, no request finds them. Immutable; any thread.
/// </summary>
/// <param name="SliceBytes">Of all slices but the last.</param>
/// <param name="Length">Of the whole body, in bytes; more than a slice.</param>
/// <param name="Generation">Tells the slices of one response from those of another with the same key.</param>
internal sealed record SliceMark(long SliceBytes, long Length, string Generation)
{
    public const string FieldName = ":slices";

    private const int GenerationLength = 16;

    /// <summary>What a part says of its own bytes, and the whole has not (RFC 9110 14.4, RFC 9530).</summary>
    private static readonly HashSet<string> s_ofPart =
        new(StringComparer.OrdinalIgnoreCase) { HeaderNames.ContentRange, HeaderNames.ContentMD5, "Content-Digest", FieldName };

    /// <summary>Of a stored head; <see langword="null"/> where the body is there as a whole.</summary>
    public static SliceMark? Of(ResponseHead head) =>
        head[FieldName] is [{ } text]
        && text.Split(' ') is [var size, var length, var generation]
            ? new(long.Parse(size, CultureInfo.InvariantCulture), long.Parse(length, CultureInfo.InvariantCulture), generation)
            : null;

    /// <summary>Makes a head of the whole response of that of its first part.</summary>
    /// <param name="part">A 206.</param>
    /// <param name="length">Of the whole body.</param>
    public static ResponseHead MarkFirst(ResponseHead part, long sliceBytes, long length)
    {
        ResponseHead whole = new(StatusCodes.Status200OK, part.Without(s_ofPart).Fields, Math.Min(sliceBytes, length));
        string generation = RandomNumberGenerator.GetHexString(GenerationLength, lowercase: true);
        return length <= sliceBytes
            ? whole
            : whole.With(new(FieldName, string.Create(CultureInfo.InvariantCulture, $"{sliceBytes} {length} {generation}")));
    }

    public long IndexOf(long position) => position / SliceBytes;

    public ByteRange RangeOf(long index)
    {
        // The end of the last slice may be more than a number can be.
        long first = index * SliceBytes;
        return new(first, first + Math.Min(SliceBytes, Length - first) - 1);
    }

    /// <summary>Where a slice but the first is stored.</summary>
    /// <param name="key">Of the first.</param>
    /// <param name="index">From 1.</param>
    public string KeyOf(string key, long index) => string.Create(CultureInfo.InvariantCulture, $"slice={index} {Generation}{KeyPrefixes.EndOfParts}{key}");
}
