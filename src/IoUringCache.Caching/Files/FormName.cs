using System.Text;
using IoUringCache.Caching.Http;

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
