using System.Text;
using IoUringCache.Caching.Http1;

namespace IoUringCache.Caching.Tests.Http1;

/// <summary>Bytes of a message as text in which each character is one byte, and outcomes as text that a failed test can show.</summary>
internal static class Latin1Text
{
    public static byte[] Bytes(string text) => Encoding.Latin1.GetBytes(text);

    public static string Of(ReadOnlySpan<byte> bytes) => Encoding.Latin1.GetString(bytes);

    public static string Of(in ReceivedHead head) =>
        $"{head.StatusCode} {head.MinorVersion}"
        + string.Concat(head.Fields.Select(field => $" [{field.Name}={string.Join('|', field.Values.ToArray())}]"));

    /// <summary>What a function returns, or the fault that it throws.</summary>
    public static string OutcomeOf(Func<string> read)
    {
        try
        {
            return read();
        }
        catch (Http1Exception failure)
        {
            return failure.Fault.ToString();
        }
    }

    /// <summary>Random numbers of a test; the seed is printed, and <c>FUZZ_SEED=SEED</c> repeats a run.</summary>
    public static Random Seeded()
    {
        int seed = int.TryParse(Environment.GetEnvironmentVariable("FUZZ_SEED"), out int given) ? given : Random.Shared.Next();
        TestContext.Current.TestOutputHelper?.WriteLine($"FUZZ_SEED={seed}");
        return new(seed);
    }
}
