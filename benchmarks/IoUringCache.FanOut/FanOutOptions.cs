using System.Globalization;

namespace IoUringCache.FanOut;

/// <summary>The options of the command line, checked. Immutable.</summary>
internal sealed record FanOutOptions
{
    public const string Help =
        """
        IoUringCache.FanOut --url URL --origin-port PORT [options]

        Has many readers follow one object while it is made, and measures how late each of its chunks comes to each reader: from the write
        of the origin, which is this program, to the receipt by the reader, which is this program too, on one thread. Every byte is checked.
        Prints JSON. Exit code 0: all bytes are right, every reader saw the end, and the origin was asked once. 1: not so, and a line says
        what. 2: wrong options, or it cannot run.

          --url           A cache, e.g. http://127.0.0.1:8080. It is asked for an object below /object/ that nobody has asked for before.
          --origin-port   The port of this machine's loopback interface on which that cache finds its origin.
          --pids          The processes whose CPU time is counted, separated by commas. Default: none.
          --metrics       Where the cache tells its process_allocated_bytes_total, as Prometheus text. Default: nowhere.
          --readers       1 to 20000. Default: 1000.
          --joiners       Readers who join, one after the other, in the first second that is measured: 0 to 20000. Their own delays do not
                          count, for they begin with all that they have missed. Default: 0.
          --warm-up       Seconds in which all are live before anything is measured. Default: 2.
          --seconds       Seconds that are measured. Default: 10.
          --chunk-bytes   16 to 1048576. Default: 4096.
          --interval-ms   Time between chunks, 1 to 10000. Default: 16.
          --help          This text.
        """;

    private static readonly Uri s_none = new("http://none");

    public required Uri Url { get; init; }

    public required int OriginPort { get; init; }

    public IReadOnlyList<int> Pids { get; private init; } = [];

    public Uri? Metrics { get; private init; }

    public int Readers { get; private init; } = 1000;

    public int Joiners { get; private init; }

    public int WarmUpSeconds { get; private init; } = 2;

    public int Seconds { get; private init; } = 10;

    public int ChunkBytes { get; private init; } = 4096;

    public int IntervalMilliseconds { get; private init; } = 16;

    /// <exception cref="FormatException">An argument is wrong; the message names it.</exception>
    public static FanOutOptions Parse(IReadOnlyList<string> arguments)
    {
        FanOutOptions options = new() { Url = s_none, OriginPort = 0 };
        for (int index = 0; index < arguments.Count; index += 2)
        {
            string option = arguments[index];
            string value = index + 1 < arguments.Count ? arguments[index + 1] : throw new FormatException($"{option}: expected an option and its value");
            options = option switch
            {
                "--url" => options with { Url = ParseUrl(option, value) },
                "--origin-port" => options with { OriginPort = ParseNumber(option, value, 1, 65535) },
                "--pids" => options with { Pids = [.. value.Split(',').Select(pid => ParseNumber(option, pid, 1, int.MaxValue))] },
                "--metrics" => options with { Metrics = ParseUrl(option, value) },
                "--readers" => options with { Readers = ParseNumber(option, value, 1, 20_000) },
                "--joiners" => options with { Joiners = ParseNumber(option, value, 0, 20_000) },
                "--warm-up" => options with { WarmUpSeconds = ParseNumber(option, value, 0, 3600) },
                "--seconds" => options with { Seconds = ParseNumber(option, value, 1, 3600) },
                "--chunk-bytes" => options with { ChunkBytes = ParseNumber(option, value, Pattern.HeaderBytes, 1 << 20) },
                "--interval-ms" => options with { IntervalMilliseconds = ParseNumber(option, value, 1, 10_000) },
                _ => throw new FormatException($"{option}: unknown option"),
            };
        }

        return (ReferenceEquals(options.Url, s_none), options.OriginPort) switch
        {
            (true, _) => throw new FormatException("--url: missing"),
            (_, 0) => throw new FormatException("--origin-port: missing"),
            _ => options,
        };
    }

    private static int ParseNumber(string option, string value, int from, int to) =>
        int.TryParse(value, NumberStyles.None, CultureInfo.InvariantCulture, out int number) && number >= from && number <= to
            ? number
            : throw new FormatException($"{option}: '{value}' is not a whole number from {from} to {to}");

    private static Uri ParseUrl(string option, string value) =>
        Uri.TryCreate(value, UriKind.Absolute, out Uri? url) && url.Scheme == Uri.UriSchemeHttp
            ? url
            : throw new FormatException($"{option}: '{value}' is not an http address");
}
