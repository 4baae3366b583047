using System.Buffers.Binary;
using IoUringCache.Caching.Options;

namespace CachingService.Demo;

/// <summary>One generated object of the demo origin, as its URL asks for it. Immutable.</summary>
internal sealed record DemoObject(ulong Seed, long Size, int ChunkBytes, TimeSpan Interval, bool HasKnownLength, TimeSpan TimeToLive)
{
    private const string DefaultSize = "1345292";

    /// <exception cref="FormatException">A query parameter has no usable value; the message names it.</exception>
    public static DemoObject Parse(HttpRequest request)
    {
        ulong seed = 14695981039346656037UL;
        foreach (char character in request.Path.Value ?? "")
        {
            // FNV-1a: the same path gives the same bytes in every process.
            seed = (seed ^ character) * 1099511628211UL;
        }

        return new(
            seed,
            Read("size", DefaultSize, text => ValueParser.Bytes(text, 0, 1L << 30)),
            (int)Read("chunk", "16384", text => ValueParser.Bytes(text, 1, 1L << 20)),
            Read("interval", "0", text => ValueParser.Duration(text, TimeSpan.Zero, TimeSpan.FromMinutes(1))),
            Read("length", "known", text => text is "known" or "none"
                ? text == "known"
                : throw new FormatException("expected known or none.")),
            Read("ttl", "60s", text => ValueParser.Duration(text, TimeSpan.Zero, TimeSpan.FromDays(365))));

        T Read<T>(string name, string defaultText, Func<string, T> parse)
        {
            try
            {
                return parse(request.Query[name].FirstOrDefault() ?? defaultText);
            }
            catch (FormatException failure)
            {
                throw new FormatException($"{name}: {failure.Message}");
            }
        }
    }

    /// <summary>Writes the object's bytes from a position on: 64-bit words of a hash of seed and position, so any piece can be made alone.</summary>
    public void Fill(long position, Span<byte> piece)
    {
        Span<byte> word = stackalloc byte[sizeof(ulong)];
        while (!piece.IsEmpty)
        {
            int offset = (int)(position % sizeof(ulong));
            BinaryPrimitives.WriteUInt64LittleEndian(word, Mix(Seed + (ulong)(position / sizeof(ulong))));
            int count = Math.Min(sizeof(ulong) - offset, piece.Length);
            word.Slice(offset, count).CopyTo(piece);
            piece = piece[count..];
            position += count;
        }
    }

    /// <summary>The finalizer of SplitMix64.</summary>
    private static ulong Mix(ulong value)
    {
        value += 0x9E3779B97F4A7C15;
        value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9;
        value = (value ^ (value >> 27)) * 0x94D049BB133111EB;
        return value ^ (value >> 31);
    }
}
