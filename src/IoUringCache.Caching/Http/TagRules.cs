using Microsoft.Extensions.Primitives;

namespace IoUringCache.Caching.Http;

/// <summary>
/// Which tags a response has, by which it can be purged with others: the groups of RFC 9875, and the surrogate keys that content delivery
/// networks have in common. One name space for both. A group of one site is none of another (RFC 9875 2), so that no site has those of others
/// purged by its answers: it has a second tag for that, with the site in its name. Any thread.
/// </summary>
internal static class TagRules
{
    /// <summary>A list of strings (RFC 9875 2). Goes on to clients, because caches before us group by it too.</summary>
    public const string Groups = "Cache-Groups";

    /// <summary>A list of strings, on an answer to a method that is not safe (RFC 9875 3).</summary>
    public const string GroupInvalidation = "Cache-Group-Invalidation";

    /// <summary>Words with spaces between them, for caches of the origin's own and nobody else.</summary>
    public const string SurrogateKeys = "Surrogate-Key";

    /// <summary>
    /// Most tags that a stored response may name: a look-up may go through all of them, and through the second tags of groups. RFC 9875 2
    /// wants no less than 32. Each may be as long as it comes, since the fields of a response have a limit together.
    /// </summary>
    public const int MaxTags = 256;

    /// <summary>Between a site and a group of it. No field has a line end.</summary>
    private const char EndOfSite = '\n';

    /// <summary>All tags that a response names, each once.</summary>
    public static IReadOnlyCollection<string> Of(ResponseHead head) => Of(head[Groups], head[SurrogateKeys]);

    /// <summary>All tags that a response has, each once.</summary>
    /// <param name="site">Of its key (<see cref="Origins.ObjectAddress.Site"/>).</param>
    public static IReadOnlyCollection<string> Of(ResponseHead head, string site)
    {
        IReadOnlyCollection<string> named = Of(head);
        return site.Length == 0 || head[Groups].Count == 0
            ? named
            : [.. named, .. StringsOf(head[Groups]).Distinct().Select(group => OfSite(group, site))];
    }

    /// <summary>The tag of a group for what concerns its site alone.</summary>
    public static string OfSite(string group, string site) => site.Length == 0 ? group : $"{site}{EndOfSite}{group}";

    /// <summary>Whether a tag is one of those, which no response has named.</summary>
    public static bool IsOfSite(string tag) => tag.Contains(EndOfSite);

    /// <summary>All tags that two fields name, each once.</summary>
    public static IReadOnlyCollection<string> Of(StringValues groups, StringValues keys)
    {
        if (groups.Count == 0 && keys.Count == 0)
        {
            return [];
        }

        HashSet<string> tags = [.. StringsOf(groups)];
        foreach (string? line in keys)
        {
            tags.UnionWith((line ?? "").Split(' ', StringSplitOptions.RemoveEmptyEntries));
        }

        return tags;
    }

    /// <summary>The members of a list of strings; none if it is anything else (RFC 8941 4.2).</summary>
    public static IEnumerable<string> StringsOf(StringValues lines) =>
        StructuredField.TryParseList(lines, out List<StructuredValue>? members) && members.TrueForAll(member => member.Type == StructuredType.String)
            ? members.Select(member => member.Unquoted)
            : [];
}
