using System.Globalization;
using IoUringCache.Transport;

namespace IoUringCache.Soak;

/// <summary>The options of the command line, checked. Immutable.</summary>
internal sealed record SoakOptions
{
    public const string Help =
        """
        IoUringCache.Soak [--duration TIME] [--connections N] [--idle N] [--scenario NAME] [--scheduling NAME] [--seed N]

        Wears a server on the io_uring transport out, and then wants everything back: descriptors, slots, receive buffers, send segments
        and memory. The server is a process of its own. Exit code 0: nothing is missing. 1: something is, and a line says what.

          --duration     Time for all scenarios together: 90s, 10m, 2h. Default: 1m.
          --connections  The churn ends when it has made so many connections, if its time is not up first. Default: 1000000.
          --idle         Connections that the scenario "idle" holds open, at most 60000. Default: 10000.
          --scenario     One of them, or all (default):
                           churn       connections come, exchange something and end by FIN, half-close, reset or abort
                           slow        clients that read slowly, and clients that write slowly
                           idle        many connections that do nothing
                           slowloris   clients that send byte by byte what never becomes a request
                           never-read  clients that send 1 MiB to applications that never read, beside others that are served
          --scheduling   Adaptive (default), Inline or ThreadPool: where the server's application code runs.
          --seed         What the random choices start from, a number from 0 to 2147483647. Default: a new one, which is printed.
          --help         This text.
        """;

    /// <summary>Every scenario, in the order in which they run, with its share of the time.</summary>
    public static readonly IReadOnlyList<(string Name, double Share)> Scenarios =
        [("churn", 0.6), ("slow", 0.1), ("idle", 0.1), ("slowloris", 0.1), ("never-read", 0.1)];

    private const int MaxIdle = 60_000;

    public TimeSpan Duration { get; private init; } = TimeSpan.FromMinutes(1);

    public int Connections { get; private init; } = 1_000_000;

    public int Idle { get; private init; } = 10_000;

    /// <summary>Null: all.</summary>
    public string? Scenario { get; private init; }

    public ApplicationScheduling Scheduling { get; private init; } = ApplicationScheduling.Adaptive;

    public int Seed { get; private init; } = Random.Shared.Next();

    /// <exception cref="FormatException">An argument is wrong; the message names it.</exception>
    public static SoakOptions Parse(IReadOnlyList<string> arguments)
    {
        SoakOptions options = new();
        for (int index = 0; index < arguments.Count; index += 2)
        {
            string option = arguments[index];
            string value = index + 1 < arguments.Count ? arguments[index + 1] : throw new FormatException($"{option}: expected an option and its value");
            options = option switch
            {
                "--duration" => options with { Duration = ParseDuration(value) },
                "--connections" => options with { Connections = ParseNumber(option, value, 1, int.MaxValue) },
                "--idle" => options with { Idle = ParseNumber(option, value, 1, MaxIdle) },
                "--scenario" => options with { Scenario = ParseScenario(value) },
                "--scheduling" => options with { Scheduling = ParseScheduling(value) },
                "--seed" => options with { Seed = ParseNumber(option, value, 0, int.MaxValue) },
                _ => throw new FormatException($"{option}: unknown option"),
            };
        }

        return options;
    }

    private static TimeSpan ParseDuration(string value)
    {
        Func<double, TimeSpan>? unit = value.LastOrDefault() switch
        {
            's' => TimeSpan.FromSeconds,
            'm' => TimeSpan.FromMinutes,
            'h' => TimeSpan.FromHours,
            _ => null,
        };
        return unit is not null && int.TryParse(value[..^1], NumberStyles.None, CultureInfo.InvariantCulture, out int count) && count > 0
            ? unit(count)
            : throw new FormatException($"--duration: '{value}' is not a time like 90s, 10m or 2h");
    }

    private static int ParseNumber(string option, string value, int from, int to) =>
        int.TryParse(value, NumberStyles.None, CultureInfo.InvariantCulture, out int number) && number >= from && number <= to
            ? number
            : throw new FormatException($"{option}: '{value}' is not a whole number from {from} to {to}");

    private static string? ParseScenario(string value) => value == "all" || Scenarios.Any(scenario => scenario.Name == value)
        ? value == "all" ? null : value
        : throw new FormatException($"--scenario: '{value}' is not one of all, {string.Join(", ", Scenarios.Select(scenario => scenario.Name))}");

    private static ApplicationScheduling ParseScheduling(string value) => value switch
    {
        nameof(ApplicationScheduling.ThreadPool) => ApplicationScheduling.ThreadPool,
        nameof(ApplicationScheduling.Inline) => ApplicationScheduling.Inline,
        nameof(ApplicationScheduling.Adaptive) => ApplicationScheduling.Adaptive,
        _ => throw new FormatException($"--scheduling: '{value}' is not one of ThreadPool, Inline, Adaptive"),
    };
}
