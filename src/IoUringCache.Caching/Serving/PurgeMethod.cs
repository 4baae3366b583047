using System.Net;
using IoUringCache.Caching.Filling;
using IoUringCache.Caching.Http;
using IoUringCache.Caching.Options;
using IoUringCache.Caching.Origins;
using IoUringCache.Caching.Telemetry;
using Microsoft.Extensions.Primitives;

namespace IoUringCache.Caching.Serving;

/// <summary>
/// The method <c>PURGE</c> on public addresses, for the clients of <c>Cache:PurgeFrom</c>: purges the key that a GET of the same target has; what
/// has a prefix, where the target ends with <c>/*</c>; or the tags that <c>Surrogate-Key</c> or <c>Cache-Groups</c> names. A purge that reaches
/// other routes is for clients that may purge in all of these. While the route's option is empty, the method is one like any other. Any thread; one per service.
/// </summary>
internal sealed class PurgeMethod(PurgeAnswer purges, OwnAnswer answers, CacheMetrics metrics, LiveOptions options, TimeProvider time)
{
    internal const string Name = "PURGE";

    private const string Soft = "Soft-Purge";

    public ObjectHandler Before(ObjectHandler next) => (context, address) =>
        IsFor(context, address) ? HandleAsync(context, address) : next(context, address);

    /// <summary>Whether a request has this method, and it is not the origin's.</summary>
    public static bool IsFor(HttpContext context, ObjectAddress address) =>
        context.Request.Method.Equals(Name, StringComparison.OrdinalIgnoreCase) && !address.Policy.PurgeFrom.IsEmpty;

    private async Task HandleAsync(HttpContext context, ObjectAddress address)
    {
        long begun = time.GetTimestamp();
        try
        {
            await AnswerAsync(context, address);
        }
        catch (FormatException failure)
        {
            JsonAnswer.Refuse(context, StatusCodes.Status400BadRequest, failure.Message);
        }
        finally
        {
            metrics.Answered(context, RequestOutcome.Own, time.GetElapsedTime(begun), address.Policy.Prefix);
        }
    }

    /// <exception cref="FormatException">The request is wrong.</exception>
    private Task AnswerAsync(HttpContext context, ObjectAddress address)
    {
        CacheOptions now = options.Now;
        if (ForwardingFields.TryFindClient(context, now.TrustedProxies, out IPAddress? client) && address.Policy.PurgeFrom.Contains(client))
        {
            Purge[] asked = Read(context.Request.Headers, address.Key);
            string reach = asked[0].Scope == PurgeScope.Prefix ? asked[0].Name : "";
            if (asked[0].Scope == PurgeScope.Key || address.Route.PurgePlaces(now).All(place => place.Allows(client, reach)))
            {
                return purges.SendAsync(context, asked, TimeSpan.Zero);
            }
        }

        answers.Send(context, StatusCodes.Status403Forbidden, "purge-not-allowed");
        return Task.CompletedTask;
    }

    private static Purge[] Read(IHeaderDictionary request, string key)
    {
        bool isSoft = request[Soft].ToString() switch
        {
            "" or "0" => false,
            "1" => true,
            _ => throw new FormatException($"field {Soft}: expected 1 or 0"),
        };
        (StringValues groups, StringValues keys) = (request[TagRules.Groups], request[TagRules.SurrogateKeys]);
        return groups.Count + keys.Count == 0
            ? [ReadTarget(key, isSoft)]
            : TagRules.Of(groups, keys) is { Count: > 0 and <= TagRules.MaxTags } tags ? [.. tags.Select(tag => Purge.OfTag(tag, isSoft))]
            : throw new FormatException($"field {TagRules.SurrogateKeys} or {TagRules.Groups}: expected 1 to {TagRules.MaxTags} tags");
    }

    private static Purge ReadTarget(string key, bool isSoft)
    {
        if (!key.EndsWith('*'))
        {
            return key.Length > 0 ? Purge.OfKey(key, isSoft) : throw new FormatException("target: names no object");
        }

        string prefix = KeyPrefixes.TargetOf(key)[..^1].ToString();

        // Every key begins with nothing.
        return prefix.Length == 0 ? Purge.OfAll(isSoft)
            : KeyPrefixes.IsPrefix(prefix) ? Purge.OfPrefix(prefix, isSoft)
            : throw new FormatException($"target: {KeyPrefixes.Expected}, before *");
    }
}
