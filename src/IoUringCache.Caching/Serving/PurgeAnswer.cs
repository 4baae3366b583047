using System.Text.Json;
using IoUringCache.Caching.Filling;
using IoUringCache.Caching.Storage;

namespace IoUringCache.Caching.Serving;

/// <summary>
/// Carries out the purges that a request asks for, and says what they did: when no later process can find on the disk what was purged and, where
/// there are other nodes, when their log has the purges. Any thread; one per service.
/// </summary>
internal sealed class PurgeAnswer(Purger purger, TimeProvider time)
{
    /// <summary>How long the log may take. A request that waits longer for the nodes waits as long for the log.</summary>
    private static readonly TimeSpan s_logTime = TimeSpan.FromSeconds(5);

    /// <param name="purges">One; or several of tags, all hard or all soft, whose counts are added.</param>
    /// <param name="wait">How long the other nodes have to apply them; zero: they are not waited for.</param>
    public async Task SendAsync(HttpContext context, IReadOnlyList<Purge> purges, TimeSpan wait)
    {
        long begun = time.GetTimestamp();
        PurgeReport report = purger.Purge(purges[0], out Task<long>? logged);
        foreach (Purge purge in purges.Skip(1))
        {
            // The log gets them in order, so the last one tells of all.
            report += purger.Purge(purge, out logged);
        }

        await purger.SettledAsync();
        Spread? spread = logged is null ? null : await SpreadAsync(logged, wait, begun);
        context.Response.StatusCode = spread switch
        {
            { Number: null } => StatusCodes.Status503ServiceUnavailable,
            { Missing.Count: > 0 } => StatusCodes.Status504GatewayTimeout,

            // A node of several does not know what the others have.
            null when purges[0].Scope == PurgeScope.Key && report.IsEmpty => StatusCodes.Status404NotFound,
            _ => StatusCodes.Status200OK,
        };
        JsonAnswer.Write(context, json =>
        {
            WriteNames(json, purges);
            json.WriteBoolean("soft", purges[0].IsSoft);
            json.WriteNumber("objects", report.Objects);
            if (report.DiskObjects is { } onDisk)
            {
                json.WriteNumber("diskObjects", onDisk);
            }

            json.WriteNumber("fills", report.Fills);
            if (spread is not null)
            {
                WriteSpread(json, spread);
            }
        });
    }

    private static void WriteNames(Utf8JsonWriter json, IReadOnlyList<Purge> purges)
    {
        string what = purges[0].Kind;
        json.WriteString("purged", what);
        if (purges.Count > 1)
        {
            WriteList(json, "tags", purges.Select(static purge => TagText.Describe(purge.Name)));
        }
        else if (purges[0].Scope != PurgeScope.All)
        {
            json.WriteString(what, purges[0].Scope == PurgeScope.Tag ? TagText.Describe(purges[0].Name) : purges[0].Name);
        }
    }

    private static void WriteSpread(Utf8JsonWriter json, Spread spread)
    {
        json.WriteOptional("sequence", spread.Number);
        if (spread.Number is null)
        {
            json.WriteString("error", "applied on this node; the others are told as soon as the log of purges can be reached");
        }

        if (spread.Missing is { } missing)
        {
            WriteList(json, "missing", missing);
        }
    }

    private static void WriteList(Utf8JsonWriter json, string name, IEnumerable<string> texts)
    {
        json.WriteStartArray(name);
        foreach (string text in texts)
        {
            json.WriteStringValue(text);
        }

        json.WriteEndArray();
    }

    private async Task<Spread> SpreadAsync(Task<long> logged, TimeSpan wait, long begun)
    {
        try
        {
            long number = await logged.WaitAsync(wait > s_logTime ? wait : s_logTime, time);
            return wait == TimeSpan.Zero
                ? new(number, null)
                : new(number, await purger.Log!.WaitUntilAppliedAsync(number, wait - time.GetElapsedTime(begun)));
        }
        catch (TimeoutException)
        {
            return new(null, null);
        }
    }

    /// <summary>What is known of the other nodes.</summary>
    /// <param name="Number">Of the purge in the log; <see langword="null"/> while it is not there.</param>
    /// <param name="Missing">Nodes that have not applied it; <see langword="null"/> if the request does not wait for them.</param>
    private sealed record Spread(long? Number, IReadOnlyList<string>? Missing);
}
