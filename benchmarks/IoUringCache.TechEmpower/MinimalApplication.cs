using System.Net.Mime;
using System.Text.Json;
using Microsoft.AspNetCore.Http.HttpResults;

namespace IoUringCache.TechEmpower;

/// <summary>The routes as a minimal API.</summary>
internal static class MinimalApplication
{
    public static void Map(WebApplication app)
    {
        Utf8ContentHttpResult plaintext = TypedResults.Text("Hello, World!"u8, MediaTypeNames.Text.Plain);
        app.MapGet("/plaintext", () => plaintext);
        app.MapGet("/json", () => TypedResults.Text(Serialize(), MediaTypeNames.Application.Json));
    }

    /// <summary>To bytes of its own: written straight to the response it would be chunked, and its framing would be measured too.</summary>
    private static byte[] Serialize() => JsonSerializer.SerializeToUtf8Bytes(new Message("Hello, World!"), MessageJsonContext.Default.Message);
}
