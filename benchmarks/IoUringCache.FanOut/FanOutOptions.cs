using System.Globalization;

namespace IoUringCache.FanOut;

/// <summary>The options of the command line, checked. Immutable.</summary>
internal sealed record FanOutOptions
{
    public const string Help =
        """
        IoUringCache.FanOut --service PROGRAM | --url URL --admin URL --pid PID --origin-port PORT   [options]

        Has many readers follow one object while it is made, and measures how late each of its chunks comes to each reader: from the write
        of the origin, which is this program, to the receipt by the reader, which is this program too, on one thread. Every byte is checked.
        Prints a line of a Markdown table, or JSON. Exit code 0: all bytes are right, every reader saw the end, and the origin was asked
        once. 1: not so, and a line says what. 2: wrong options, or it cannot run.

          --service       The CachingService program to start, pinned to --service-cpu.
          --service-args  Further options for it, separated by spaces, e.g. "--Scheduling=Adaptive".
          --service-cpu   Processor of the service. Default: 0.
          --cpu           Processor of this program. Default: 1.
          --url           A service that runs already, e.g. http://127.0.0.1:8080; its --Cache:Origin is http://127.0.0.1:PORT.
          --admin         Its admin address, e.g. http://127.0.0.1:8081.
          --pid           Its process.
          --origin-port   Port of the origin. Default: any.
          --readers       1 to 20000. Default: 1000.
          --seconds       Time measured, after two seconds in which all are live. Default: 10.
          --chunk-bytes   16 to 1048576. Default: 4096.
          --interval-ms   Time between chunks, 1 to 10000. Default: 16.
          --format        markdown (default) or json.
          --help          This text.
        """;

    public string? Service { get; private init; }

    public IReadOnlyList<string> ServiceArguments { get; private init; } = [];

    public int ServiceCpu { get; private init; }

    public int Cpu { get; private init; } = 1;

    public Uri? Url { get; private init; }

    public Uri? Admin { get; private init; }

    public int Pid { get; private init; }

    public int OriginPort { get; private init; }

    public int Readers { get; private init; } = 1000;

    public int Seconds { get; private init; } = 10;

    public int ChunkBytes { get; private init; } = 4096;

    public int IntervalMilliseconds { get; private init; } = 16;

    public bool WritesJson { get; private init; }

    /// <exception cref="FormatException">An argument is wrong; the message names it.</exception>
    public static FanOutOptions Parse(IReadOnlyList<string> arguments)
    {
        FanOutOptions options = new();
        for (int index = 0; index < arguments.Count; index += 2)
        {
            string option = arguments[index];
            string value = index + 1 < arguments.Count ? arguments[index + 1] : throw new FormatException($"{option}: expected an option and its value");
            options = option switch
            {
                "--service" => options with { Service = File.Exists(value) ? value : throw new FormatException($"{option}: there is no '{value}'") },
                "--service-args" => options with { ServiceArguments = value.Split(' ', StringSplitOptions.RemoveEmptyEntries) },
                "--service-cpu" => options with { ServiceCpu = ParseNumber(option, value, 0, Environment.ProcessorCount - 1) },
                "--cpu" => options with { Cpu = ParseNumber(option, value, 0, Environment.ProcessorCount - 1) },
                "--url" => options with { Url = ParseUrl(option, value) },
                "--admin" => options with { Admin = ParseUrl(option, value) },
                "--pid" => options with { Pid = ParseNumber(option, value, 1, int.MaxValue) },
                "--origin-port" => options with { OriginPort = ParseNumber(option, value, 1, 65535) },
                "--readers" => options with { Readers = ParseNumber(option, value, 1, 20_000) },
                "--seconds" => options with { Seconds = ParseNumber(option, value, 1, 3600) },
                "--chunk-bytes" => options with { ChunkBytes = ParseNumber(option, value, Pattern.HeaderBytes, 1 << 20) },
                "--interval-ms" => options with { IntervalMilliseconds = ParseNumber(option, value, 1, 10_000) },
                "--format" => options with { WritesJson = value is "json" or "markdown" ? value == "json" : throw new FormatException($"{option}: '{value}' is neither markdown nor json") },
                _ => throw new FormatException($"{option}: unknown option"),
            };
        }

        bool isGiven = options is { Url: not null, Admin: not null, Pid: > 0, OriginPort: > 0 };
        return isGiven != options.Service is not null
            ? options
            : throw new FormatException("either --service, or all of --url, --admin, --pid and --origin-port");
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
