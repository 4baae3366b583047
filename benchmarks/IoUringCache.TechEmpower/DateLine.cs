using System.Text;

namespace IoUringCache.TechEmpower;

/// <summary>The <c>Date</c> field as bytes, made anew each second and shared by all responses. Any thread; one per process.</summary>
internal static class DateLine
{
    private static readonly TimeSpan s_second = TimeSpan.FromSeconds(1);

    private static volatile byte[] s_current = Make();

    private static readonly Timer s_clock = new(_ => s_current = Make(), state: null, s_second, s_second);

    /// <summary>With its line end.</summary>
    public static ReadOnlySpan<byte> Current
    {
        get
        {
            GC.KeepAlive(s_clock);
            return s_current;
        }
    }

    private static byte[] Make() => Encoding.ASCII.GetBytes($"Date: {DateTimeOffset.UtcNow:R}\r\n");
}
