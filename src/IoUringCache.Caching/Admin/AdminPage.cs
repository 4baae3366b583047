using System.Reflection;
using System.Text;
using Microsoft.Net.Http.Headers;

namespace IoUringCache.Caching.Admin;

/// <summary>
/// The live page: files of <c>Admin/Page</c>, carried in the assembly, that draw how the counters of <c>/metrics</c> move, and
/// purge. Nothing comes from anywhere else, and the browser is told to hold it to that. Stateless; any thread.
/// </summary>
internal static class AdminPage
{
    private const string Policy =
        "default-src 'none'; connect-src 'self'; script-src 'self'; style-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; "
        + "frame-ancestors 'none'";

    /// <summary>By path, with the type of each.</summary>
    private static readonly (string Path, string File, string ContentType)[] s_files =
    [
        ("/", "index.html", "text/html; charset=utf-8"),
        ("/page.css", "page.css", "text/css; charset=utf-8"),
        ("/page.js", "page.js", "text/javascript; charset=utf-8"),
        ("/chart.js", "chart.js", "text/javascript; charset=utf-8"),
        ("/nodes.js", "nodes.js", "text/javascript; charset=utf-8"),
        ("/purge.js", "purge.js", "text/javascript; charset=utf-8"),
        ("/readings.js", "readings.js", "text/javascript; charset=utf-8"),
    ];

    /// <param name="canPurge">Whether it has the form that purges, with the operator's token.</param>
    public static void MapPage(this IEndpointRouteBuilder routes, bool canPurge)
    {
        foreach ((string path, string file, string contentType) in s_files)
        {
            string text = Read(file);
            byte[] content = Encoding.UTF8.GetBytes(canPurge ? text.Replace(" hidden>", ">", StringComparison.Ordinal) : text);
            routes.MapGet(path, context =>
            {
                context.Response.Headers.CacheControl = "no-cache";
                context.Response.Headers.ContentSecurityPolicy = Policy;
                context.Response.Headers[HeaderNames.XContentTypeOptions] = "nosniff";
                return Results.Bytes(content, contentType).ExecuteAsync(context);
            });
        }
    }

    private static string Read(string file)
    {
        using StreamReader reader = new(Assembly.GetExecutingAssembly().GetManifestResourceStream(file)
            ?? throw new InvalidOperationException($"{file} is not in the assembly."));
        return reader.ReadToEnd();
    }
}
