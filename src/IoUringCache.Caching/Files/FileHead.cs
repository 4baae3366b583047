using System.Globalization;
using IoUringCache.Caching.Http;
using IoUringCache.Ring.Files;
using Microsoft.AspNetCore.StaticFiles;
using Microsoft.Net.Http.Headers;

namespace IoUringCache.Caching.Files;

/// <summary>What answers say of a file, made once from what it was when it was opened. Immutable; any thread.</summary>
internal sealed class FileHead
{
    private const string DefaultType = "application/octet-stream";

    /// <summary>
    /// A change shows in the time of the last one only if a tick of the file system's clock lies between the two: milliseconds on most, 2 s on
    /// FAT. A file that has not changed for so long will have another time after its next change.
    /// </summary>
    private static readonly TimeSpan s_longestTick = TimeSpan.FromSeconds(2);

    private static readonly FileExtensionContentTypeProvider s_types = new();

    /// <param name="opened">When that was, by the clock of this service.</param>
    public FileHead(FormName form, in FileStatus status, DateTimeOffset opened)
    {
        // Last-Modified has whole seconds, and is never later than the response, whose clock may be another one (RFC 9110 8.8.2.1).
        DateTimeOffset modified = DateTimeOffset.FromUnixTimeSeconds(Math.Min(DateOf(status), opened.ToUnixTimeSeconds()));
        ContentEncoding = form.Coding == ContentCoding.Identity ? null : CodingChoice.NameOf(form.Coding);
        EntityTag tag = MakeTag(ContentEncoding, status, opened);
        Status = status;
        Validators = new(tag, modified, opened);
        ETag = tag.ToString();
        LastModified = HeaderUtilities.FormatDate(modified);
        ContentType = s_types.TryGetContentType(form.Name, out string? type) ? type : DefaultType;
    }

    public FileStatus Status { get; }

    /// <summary>Bytes that are promised, however the file grows.</summary>
    public long Length => Status.Length;

    public Validators Validators { get; }

    public string ETag { get; }

    public string LastModified { get; }

    public string ContentType { get; }

    public string? ContentEncoding { get; }

    /// <summary>Whether this was changed before another file was.</summary>
    public bool IsOlderThan(FileHead other) =>
        (Status.ModifiedSeconds, Status.ModifiedNanoseconds).CompareTo((other.Status.ModifiedSeconds, other.Status.ModifiedNanoseconds)) < 0;

    /// <summary>
    /// Of number, length and time of the last change, in hexadecimal, and of the coding, since two names may be one file. Weak where a change
    /// that leaves all three as they are may still come: then the tag does not promise equal bytes (RFC 9110 8.8.1).
    /// </summary>
    private static EntityTag MakeTag(string? coding, in FileStatus status, DateTimeOffset opened)
    {
        string suffix = coding is null ? "" : $"-{coding}";

        // To 100 ns, which is enough to compare with a clock.
        DateTimeOffset changed = DateTimeOffset.FromUnixTimeSeconds(DateOf(status)).AddTicks(status.ModifiedNanoseconds / 100);
        string opaque = string.Create(
            CultureInfo.InvariantCulture, $"{status.Inode:x}-{status.Length:x}-{status.ModifiedSeconds:x}.{status.ModifiedNanoseconds:x}{suffix}");
        return new(opaque, IsWeak: opened - changed < s_longestTick);
    }

    /// <summary>Seconds of the last change that a date can have: file systems with 64 bits for them take more.</summary>
    private static long DateOf(in FileStatus status) => Math.Clamp(
        status.ModifiedSeconds, DateTimeOffset.MinValue.ToUnixTimeSeconds(), DateTimeOffset.MaxValue.ToUnixTimeSeconds());
}
