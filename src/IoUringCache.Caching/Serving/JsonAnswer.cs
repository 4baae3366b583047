using System.Buffers;
using System.Text.Json;

namespace IoUringCache.Caching.Serving;

/// <summary>Answers to operators as JSON: one object, members in camel case, times in seconds, sizes in bytes. Any thread.</summary>
internal static class JsonAnswer
{
    /// <param name="writeMembers">Writes what is between the outermost braces.</param>
    public static void Write(HttpContext context, Action<Utf8JsonWriter> writeMembers)
    {
        ArrayBufferWriter<byte> buffer = new();
        using (Utf8JsonWriter json = new(buffer, new() { Indented = true }))
        {
            json.WriteStartObject();
            writeMembers(json);
            json.WriteEndObject();
        }

        HttpResponse response = context.Response;
        response.ContentType = "application/json";
        response.Headers.CacheControl = "no-store";
        response.ContentLength = buffer.WrittenCount + 1;
        response.BodyWriter.Write(buffer.WrittenSpan);
        response.BodyWriter.Write("\n"u8);
    }

    /// <summary>An error with its reason.</summary>
    public static void Refuse(HttpContext context, int statusCode, string reason)
    {
        context.Response.StatusCode = statusCode;
        Write(context, json => json.WriteString("error", reason));
    }

    public static void WriteSeconds(this Utf8JsonWriter json, string name, TimeSpan value) =>
        json.WriteNumber(name, Math.Round(value.TotalSeconds, 6));

    public static void WriteOptional(this Utf8JsonWriter json, string name, long? value)
    {
        if (value is { } known)
        {
            json.WriteNumber(name, known);
        }
        else
        {
            json.WriteNull(name);
        }
    }
}
