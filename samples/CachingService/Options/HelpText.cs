using System.Runtime.InteropServices;
using System.Text;
using IoUringCache.Caching.Options;

namespace CachingService.Options;

/// <summary>The answers to <c>--help</c> and <c>--version</c>. Any thread.</summary>
internal static class HelpText
{
    /// <summary>The release, and what it runs on.</summary>
    public static string WriteVersion() =>
        $"{nameof(CachingService)} {typeof(OptionCatalog).Assembly.GetName().Version!.ToString(3)} ({RuntimeInformation.FrameworkDescription}, {RuntimeInformation.OSDescription})\n";

    /// <param name="topic">A word of the names or texts of the options that are wanted; empty: all options, and what is served.</param>
    public static string Write(string topic)
    {
        StringBuilder text = new(topic.Length > 0 ? "" : """
            CachingService: a caching service that streams one origin response to every waiting client.

              GET|HEAD /object/{id}   the origin's object {id}, from the cache where possible; or the file {id} of a directory.
                                      Cache:PublicPath=/ puts the whole origin in the place of /object/
              other methods           the same object's, always from the origin; TRACE and CONNECT are refused
              PURGE /object/{id}      takes it out of the cache, /object/{path}/* what lies below; for clients of Cache:PurgeFrom
              GET|HEAD /health        200 OK; with PublicReady also /ready: 503 while it drains

            On Admin:Url: GET /metrics, /health, /ready; with the token GET /stats, /fills?limit=N, /entry?key=KEY,
            /cluster, POST /purge?key=KEY|prefix=PREFIX|tag=TAG|all (&soft) (&wait=5s),
            POST /drain.

            Options: --Name value or --Name=value; in appsettings.json as { "Cache": { "DefaultTtl": "60s" } };
            in the environment as Cache__DefaultTtl=60s. The command line comes first, then the environment, then the file.
            Per route: the same option of one route, such as --Cache:Routes:0:Prefix=live/ --Cache:Routes:0:HoldTime=10s, for some paths or hosts.
            --help disk        options with this word          --version          the release
            --check-config     checks the options with all their sources, starts nothing, and exits with 1 if one is wrong
            Durations: 500ms, 60s, 5m, 1h, 7d, a bare number of seconds, or hh:mm:ss. Bytes: 65536, 64KiB, 256MiB, 4GiB.


            """);
        foreach (Option option in OptionCatalog.All.Concat(RouteOptionCatalog.Place))
        {
            string help = OptionCatalog.OfRoutes.Contains(option) ? $"{option.Help} Per route." : option.Help;
            if (!$"{option.Name} {help}".Contains(topic, StringComparison.OrdinalIgnoreCase))
            {
                continue;
            }

            string value = option.DefaultText.Length == 0 ? "unset" : option.DefaultText;
            text.Append("  --").Append(option.Name).Append(" <").Append(option.Form).Append(">  [").Append(value).Append("]\n")
                .Append("        ").Append(help).Append('\n');
        }

        return text.Length == 0 ? $"No option has '{topic}' in its name or text.\n"
            : topic.Length > 0 ? text.ToString()
            : text.Append("\n  --Logging:... (levels, Console:FormatterName=Json) and --Kestrel:... (certificates) are passed to the framework.\n").ToString();
    }
}
