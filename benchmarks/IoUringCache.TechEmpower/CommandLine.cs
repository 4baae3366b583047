using System.Net;
using IoUringCache.Transport;

namespace IoUringCache.TechEmpower;

/// <summary>The options of the command line, checked. Immutable.</summary>
internal sealed record CommandLine
{
    public const string Help =
        """
        IoUringCache.TechEmpower [--urls URLS] [--Application NAME] [--Transport NAME] [--Scheduling NAME]

        The plaintext and json tests of the TechEmpower benchmarks, on Kestrel.

          --urls         Addresses to listen on, separated by ';'. http only. Default: http://127.0.0.1:8080; port 0 takes a free one.
          --Application  Minimal   a minimal API (default)
                         Platform  a connection handler that parses and writes by itself, without Kestrel's HTTP
          --Transport    Auto      io_uring where the kernel allows it, else sockets (default)
                         IoUring   io_uring, or the start fails with the reason
                         Sockets   Kestrel's own transport
          --Scheduling   Adaptive    as Inline, but a handler that blocks keeps only its own thread; on sockets as ThreadPool (default)
                         Inline      application code runs on the transport's own threads; on sockets this is
                                     UnsafePreferInlineScheduling, without WaitForDataBeforeAllocatingBuffer
                         ThreadPool  application code runs on the thread pool
          --help         This text.

        GET /plaintext   Hello, World!
        GET /json        {"message":"Hello, World!"}
        """;

    public string Urls { get; init; } = "http://127.0.0.1:8080";

    public ApplicationForm Application { get; init; } = ApplicationForm.Minimal;

    public TransportBackend Transport { get; init; } = TransportBackend.Auto;

    public ApplicationScheduling Scheduling { get; init; } = ApplicationScheduling.Adaptive;

    /// <summary>Reads <c>--name value</c> and <c>--name=value</c>; names and values are not case-sensitive, the last one wins.</summary>
    /// <exception cref="FormatException">An argument is wrong; the message names it.</exception>
    public static CommandLine Parse(IReadOnlyList<string> arguments)
    {
        CommandLine commandLine = new();
        for (int index = 0; index < arguments.Count; index++)
        {
            string[] parts = arguments[index].Split('=', 2);
            string option = parts[0];
            if (parts.Length == 1 && ++index == arguments.Count)
            {
                throw new FormatException($"{option}: expected an option and its value");
            }

            string value = parts.Length == 2 ? parts[1] : arguments[index];
            commandLine = option.ToLowerInvariant() switch
            {
                "--urls" => commandLine with { Urls = CheckUrls(value) },
                "--application" => commandLine with { Application = ParseName<ApplicationForm>(option, value) },
                "--transport" => commandLine with { Transport = ParseName<TransportBackend>(option, value) },
                "--scheduling" => commandLine with { Scheduling = ParseName<ApplicationScheduling>(option, value) },
                _ => throw new FormatException($"{option}: unknown option"),
            };
        }

        return commandLine;
    }

    private static string CheckUrls(string value)
    {
        foreach (string url in value.Split(';'))
        {
            if (!IsHttpAddress(url))
            {
                throw new FormatException($"--urls: '{url}' is not an http address; expected something like http://127.0.0.1:8080");
            }
        }

        return value;
    }

    private static bool IsHttpAddress(string url)
    {
        try
        {
            BindingAddress address = BindingAddress.Parse(url);

            // What is no port is taken for a part of the host, and the port for 80.
            bool hasPort = address.IsUnixPipe || !address.Host.Contains(':') || address.Host.EndsWith(']');
            return address.Scheme.Equals("http", StringComparison.OrdinalIgnoreCase) && hasPort && address.Port is >= 0 and <= IPEndPoint.MaxPort;
        }
        catch (FormatException)
        {
            return false;
        }
    }

    /// <summary>By name only: <see cref="Enum.Parse{T}(string)"/> would also take any number.</summary>
    private static T ParseName<T>(string option, string value)
        where T : struct, Enum
    {
        string[] names = Enum.GetNames<T>();
        return names.Contains(value, StringComparer.OrdinalIgnoreCase)
            ? Enum.Parse<T>(value, ignoreCase: true)
            : throw new FormatException($"{option}: '{value}' is not one of {string.Join(", ", names)}");
    }
}
