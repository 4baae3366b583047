using System.Text.Json;
using System.Text.Json.Serialization;
using IoUringCache.Caching.Filling;
using IoUringCache.Caching.Http;

namespace IoUringCache.Clustering;

/// <summary>A message of the log, in JSON. Immutable; any thread.</summary>
/// <param name="From">The process that sent it, and applied it before.</param>
/// <param name="Name">The key, the tag or the prefix; empty for everything.</param>
/// <param name="Soft">Stale from now on; else gone.</param>
internal sealed record PurgeMessage(string From, PurgeScope Scope, string Name, bool Soft)
{
    public byte[] Write() => JsonSerializer.SerializeToUtf8Bytes(this, ClusterJson.Default.PurgeMessage);

    /// <returns><see langword="null"/> if the text is not understood, and for a prefix that no key of this version has.</returns>
    public static PurgeMessage? Read(ReadOnlySpan<byte> text) =>
        ClusterJson.Read(text, ClusterJson.Default.PurgeMessage) is { } message
        && (message.Scope != PurgeScope.Prefix || KeyPrefixes.IsPrefix(message.Name)) ? message : null;
}

/// <summary>The report of a node, in JSON. Immutable; any thread.</summary>
/// <param name="Instance">Of the process.</param>
/// <param name="Started">Start of the process in milliseconds since 1970; of two processes with one name the later one counts.</param>
/// <param name="Received">Number of the last message that it has received.</param>
/// <param name="Applied">Number of the last message that it has applied.</param>
/// <param name="HasShields">Whether its origin is nodes of the cluster.</param>
/// <param name="MaxSilence">Its longest silence, in seconds.</param>
/// <param name="Log">Which log the numbers are of, as <see cref="LogExtent.Stream"/>; 0 from a node of an earlier version.</param>
internal sealed record NodeReport(
    string Name, string Instance, long Started, ClusterState State, long Received, long Applied, bool HasShields, double MaxSilence, NodeFigures Figures,
    long Log = 0)
{
    /// <summary>Whether the numbers are of this log. One that is made anew numbers from 1 again.</summary>
    public bool IsOf(long log) => Log == log || Log == 0;

    public byte[] Write() => JsonSerializer.SerializeToUtf8Bytes(this, ClusterJson.Default.NodeReport);

    /// <returns><see langword="null"/> if the text is not understood.</returns>
    public static NodeReport? Read(ReadOnlySpan<byte> text) => ClusterJson.Read(text, ClusterJson.Default.NodeReport);
}

/// <summary>Figures of one cache, since its start. Immutable.</summary>
/// <param name="Hits">Requests answered from the store, without asking the origin.</param>
/// <param name="Misses">Requests that began a fetch, joined one, or went to the origin alone.</param>
/// <param name="Fetches">Attempts of fetches to ask the origin.</param>
/// <param name="Objects">Stored in memory, now.</param>
internal readonly record struct NodeFigures(long Hits, long Misses, long Fetches, int Objects);

/// <summary>The form of messages and reports. Unknown members are ignored; missing members and unknown names are errors. Any thread.</summary>
[JsonSourceGenerationOptions(
    PropertyNamingPolicy = JsonKnownNamingPolicy.CamelCase,
    RespectNullableAnnotations = true,
    RespectRequiredConstructorParameters = true,
    Converters = [typeof(NamedEnum<PurgeScope>), typeof(NamedEnum<ClusterState>)])]
[JsonSerializable(typeof(PurgeMessage))]
[JsonSerializable(typeof(NodeReport))]
internal sealed partial class ClusterJson : JsonSerializerContext
{
    public static T? Read<T>(ReadOnlySpan<byte> text, System.Text.Json.Serialization.Metadata.JsonTypeInfo<T> type)
        where T : class
    {
        try
        {
            return JsonSerializer.Deserialize(text, type);
        }
        catch (JsonException)
        {
            return null;
        }
    }
}

/// <summary>Reads and writes an enum by name, not by number. Stateless.</summary>
internal sealed class NamedEnum<T>() : JsonStringEnumConverter<T>(JsonNamingPolicy.CamelCase, allowIntegerValues: false)
    where T : struct, Enum;
