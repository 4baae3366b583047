using System.Text;

namespace IoUringCache.Caching.Files;

/// <summary>Which form of which file. Immutable.</summary>
/// <param name="Name">Of the file itself, relative to the directory, a character for each byte.</param>
/// <param name="Coding">Of the form, which is a neighbour if it is encoded.</param>
internal readonly record struct FormName(string Name, ContentCoding Coding)
{
    /// <summary>Where it lies, relative to the directory.</summary>
    public byte[] Path => Encoding.Latin1.GetBytes(Name + Suffix);

    private string Suffix => Coding switch
    {
        ContentCoding.Brotli => ".br",
        ContentCoding.Gzip => ".gz",
        _ => "",
    };
}

/// <summary>A form in which a file is served: as it is, or encoded beforehand by somebody else (RFC 9110 8.4.1).</summary>
internal enum ContentCoding
{
    Identity,
    Brotli,
    Gzip,
}
