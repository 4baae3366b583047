using System.Text;

namespace IoUringCache.Caching.Serving;

/// <summary>
/// Finds requests that go past a route that refuses some: another route has their path, but an origin may read it as one of that route, because of
/// escapes, doubled slashes or parameters of segments (<c>/%6dedia/</c>, <c>//media/</c>, <c>/media;a/</c>). Immutable; any thread; owned by a
/// <see cref="GateTable"/>.
/// </summary>
internal sealed class SpellingGuard(IReadOnlyList<GateRoute> routes)
{
    private readonly GateTable _plain = new([.. routes.Select(static route => route with { Prefix = PlainOf(route.Prefix) })], methods: "");

    /// <param name="request">Any request.</param>
    /// <param name="pathAndQuery">Of its target, which is valid.</param>
    /// <param name="found">The route that it has.</param>
    public bool MustRefuse(HttpRequest request, string pathAndQuery, GateRoute found)
    {
        int query = pathAndQuery.IndexOf('?');
        string path = query < 0 ? pathAndQuery : pathAndQuery[..query];
        return (path.AsSpan().ContainsAny('%', ';') || path.Contains("//", StringComparison.Ordinal))
            && _plain.Find(request, PlainOf(path)) is { IsGuarded: true } read
            && read.Objects != found.Objects;
    }

    /// <summary>A path as a lenient origin reads it.</summary>
    /// <param name="path">Its escapes are whole.</param>
    private static string PlainOf(string path)
    {
        StringBuilder plain = new(path.Length);
        bool isParameter = false;
        for (int index = 0; index < path.Length; index++)
        {
            char character = path[index];
            if (character == '%')
            {
                character = (char)Convert.FromHexString(path.AsSpan(index + 1, 2))[0];
                index += 2;
            }

            character = character == '\\' ? '/' : character;
            isParameter = character != '/' && (isParameter || character == ';');
            if (!isParameter && (character != '/' || plain.Length == 0 || plain[^1] != '/'))
            {
                plain.Append(character);
            }
        }

        return plain.ToString();
    }
}
