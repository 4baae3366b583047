using System.Globalization;
using System.Net;
using IoUringCache.Transport;

namespace PlaintextServer;

/// <summary>The options of the command line, checked. Immutable.</summary>
internal sealed record CommandLine
{
    public const string Help =
        """
        PlaintextServer [--urls URLS] [--Protocols NAME] [--Transport NAME] [--Scheduling NAME] [--Loops N] [--WaitForData BOOL]

        A minimal API to measure and exercise Kestrel's transports.

          --urls        Addresses to listen on, separated by ';'. Default: http://127.0.0.1:8080. Port 0 takes a free port. https uses a
                        self-signed certificate for localhost. Sockets from systemd (LISTEN_FDS) replace these addresses.
          --Protocols   Http1AndHttp2  both, as TLS negotiates; HTTP/1.1 without TLS (default)
                        Http1          HTTP/1.1
                        Http2          HTTP/2; without TLS by prior knowledge
          --Transport   Auto      io_uring where the kernel allows it, else sockets (default)
                        IoUring   io_uring, or the start fails with the reason
                        Sockets   Kestrel's own transport
          --Scheduling  Adaptive    application code runs on the event loop until it blocks; on sockets as ThreadPool (default)
                        Inline      application code runs on the event loop; on sockets this sets UnsafePreferInlineScheduling
                        ThreadPool  application code runs on the thread pool
          --Loops       Event loops of io_uring: 1 to 128. Default: one per processor; with ThreadPool half as many, at most 16.
          --WaitForData On sockets, whether an idle connection holds no receive buffer (WaitForDataBeforeAllocatingBuffer): true or
                        false. Default: true, and false with --Scheduling Inline.
          --help        This text.

        GET /health                 OK
        GET /plaintext              Hello, World!
        GET /json                   {"message":"Hello, World!"}
        GET /bytes/{n}              n bytes with Content-Length; the byte at offset i is i mod 251. n: 0 to 1073741824
        GET /chunks/{n}/{size}      the same n bytes, chunked, flushed every size bytes. size: 1 to 1048576
        GET /block/{ms}             blocks its thread for ms milliseconds. ms: 0 to 60000
        POST /echo                  the request's body, streamed back
        POST /sink                  the number of bytes in the request's body
        POST /hold                  does not read the request's body and does not respond
        POST /collect               collects garbage and returns the managed bytes in use
        """;

    public string Urls { get; private init; } = "http://127.0.0.1:8080";

    public HttpVersions Protocols { get; private init; } = HttpVersions.Http1AndHttp2;

    public TransportBackend Transport { get; private init; } = TransportBackend.Auto;

    public ApplicationScheduling Scheduling { get; private init; } = ApplicationScheduling.Adaptive;

    /// <summary>Null: as the transport has it.</summary>
    public int? Loops { get; private init; }

    /// <summary>Null: as the scheduling has it.</summary>
    public bool? WaitForData { get; private init; }

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
                "--protocols" => commandLine with { Protocols = ParseName<HttpVersions>(option, value) },
                "--transport" => commandLine with { Transport = ParseName<TransportBackend>(option, value) },
                "--scheduling" => commandLine with { Scheduling = ParseName<ApplicationScheduling>(option, value) },
                "--loops" => commandLine with { Loops = ParseNumber(option, value, 1, 128) },
                "--waitfordata" => commandLine with { WaitForData = ParseSwitch(option, value) },
                _ => throw new FormatException($"{option}: unknown option"),
            };
        }

        return commandLine;
    }

    private static int ParseNumber(string option, string value, int from, int to) =>
        int.TryParse(value, NumberStyles.None, CultureInfo.InvariantCulture, out int number) && number >= from && number <= to
            ? number
            : throw new FormatException($"{option}: '{value}' is not a whole number from {from} to {to}");

    private static bool ParseSwitch(string option, string value) =>
        bool.TryParse(value, out bool isOn) ? isOn : throw new FormatException($"{option}: '{value}' is neither true nor false");

    private static string CheckUrls(string value)
    {
        foreach (string url in value.Split(';'))
        {
            if (!IsHttpAddress(url))
            {
                throw new FormatException($"--urls: '{url}' is not an http or https address; expected something like http://127.0.0.1:8080");
            }
        }

        return value;
    }

    private static bool IsHttpAddress(string url)
    {
        try
        {
            BindingAddress address = BindingAddress.Parse(url);
            return address.Scheme.ToLowerInvariant() is "http" or "https" && address.Port is >= 0 and <= IPEndPoint.MaxPort;
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
