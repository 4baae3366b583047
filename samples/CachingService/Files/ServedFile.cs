using System.Globalization;
using CachingService.Http;
using IoUringCache.Ring;
using Microsoft.Win32.SafeHandles;

namespace CachingService.Files;

/// <summary>
/// A file that is open to be sent, and what it was at that moment: whatever happens to its name afterwards, this is the file that is served.
/// Owned by one request. Any thread.
/// </summary>
internal sealed class ServedFile : IDisposable
{
    /// <summary>
    /// A change shows in the time of the last one only if a tick of the file system's clock lies between the two: milliseconds on most, 2 s on
    /// FAT. A file that has not changed for so long will have another time after its next change.
    /// </summary>
    private static readonly TimeSpan s_longestTick = TimeSpan.FromSeconds(2);

    private readonly FileStatus _status;

    /// <param name="handle">Of a regular file; this object's from here on.</param>
    /// <param name="status">Of the open file.</param>
    /// <param name="coding">Of its bytes.</param>
    /// <param name="now">Time of this service.</param>
    public ServedFile(SafeFileHandle handle, in FileStatus status, ContentCoding coding, DateTimeOffset now)
    {
        Handle = handle;
        Coding = coding;
        _status = status;
        Opened = now;
    }

    public SafeFileHandle Handle { get; }

    public ContentCoding Coding { get; }

    /// <summary>When it was opened, by the clock of this service.</summary>
    public DateTimeOffset Opened { get; }

    /// <summary>Bytes that are promised, however the file grows.</summary>
    public long Length => _status.Length;

    /// <summary>
    /// <c>Last-Modified</c>: whole seconds, and never later than the response, whose clock may be another one (RFC 9110 8.8.2.1).
    /// </summary>
    public DateTimeOffset Modified => DateTimeOffset.FromUnixTimeSeconds(Math.Min(_status.ModifiedSeconds, Opened.ToUnixTimeSeconds()));

    /// <summary>
    /// Of number, length and time of the last change, in hexadecimal, and of the coding, since two names may be one file. Weak where a change
    /// that leaves all three as they are may still come: then the tag does not promise equal bytes (RFC 9110 8.8.1).
    /// </summary>
    public EntityTag Tag => new(
        string.Create(
            CultureInfo.InvariantCulture,
            $"{_status.Inode:x}-{_status.Length:x}-{_status.ModifiedSeconds:x}.{_status.ModifiedNanoseconds:x}{Suffix}"),
        IsWeak: Opened - Changed < s_longestTick);

    private string Suffix => Coding switch
    {
        ContentCoding.Brotli => "-br",
        ContentCoding.Gzip => "-gzip",
        _ => "",
    };

    /// <summary>To 100 ns, which is enough to compare with a clock.</summary>
    private DateTimeOffset Changed => DateTimeOffset.FromUnixTimeSeconds(_status.ModifiedSeconds).AddTicks(_status.ModifiedNanoseconds / 100);

    /// <summary>Whether this was changed before another file was.</summary>
    public bool IsOlderThan(ServedFile other) =>
        (_status.ModifiedSeconds, _status.ModifiedNanoseconds).CompareTo((other._status.ModifiedSeconds, other._status.ModifiedNanoseconds)) < 0;

    public void Dispose() => Handle.Dispose();
}
