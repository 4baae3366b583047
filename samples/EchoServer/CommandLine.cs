using System.Globalization;
using System.Net.Sockets;

namespace EchoServer;

/// <summary>The options of the command line, checked. Immutable.</summary>
internal sealed record CommandLine
{
    public const string Help =
        """
        EchoServer [--port N] [--unix PATH]

        Sends back what a connection sends: the io_uring transport without HTTP. Try it with: nc 127.0.0.1 7007

          --port  TCP port on the loopback addresses, 1 to 65535 (default 7007)
          --unix  Path of a Unix socket to listen on as well; the file must not exist, and stays when the server ends
          --help  This text.
        """;

    public ushort Port { get; private init; } = 7007;

    /// <summary>The absolute path of a Unix socket, or null for none.</summary>
    public string? UnixPath { get; private init; }

    /// <summary>Where the server listens, for messages.</summary>
    public string Places => UnixPath is null ? $"port {Port}" : $"port {Port} and {UnixPath}";

    /// <summary>Reads <c>--name value</c>; the last one wins.</summary>
    /// <exception cref="FormatException">An argument is wrong; the message names it.</exception>
    public static CommandLine Parse(IReadOnlyList<string> arguments)
    {
        CommandLine commandLine = new();
        for (int index = 0; index < arguments.Count; index += 2)
        {
            string option = arguments[index];
            string? value = index + 1 < arguments.Count ? arguments[index + 1] : null;
            commandLine = (option, value) switch
            {
                ("--port", not null) => commandLine with { Port = ParsePort(value) },
                ("--unix", not null) => commandLine with { UnixPath = CheckPath(value) },
                ("--port" or "--unix", null) => throw new FormatException($"{option}: expected a value"),
                _ => throw new FormatException($"'{option}' is not understood; run with --help for the options"),
            };
        }

        return commandLine;
    }

    private static ushort ParsePort(string text) =>
        ushort.TryParse(text, NumberStyles.None, CultureInfo.InvariantCulture, out ushort port) && port != 0
            ? port
            : throw new FormatException($"--port: '{text}' is not a port; expected 1 to 65535");

    private static string CheckPath(string text)
    {
        try
        {
            string path = Path.GetFullPath(text);
            _ = new UnixDomainSocketEndPoint(path);
            return path;
        }
        catch (ArgumentException)
        {
            throw new FormatException($"--unix: '{text}' cannot name a Unix socket: it is empty or too long");
        }
    }
}
