using System.Globalization;
using System.Net.Sockets;
using CachingService.Tests.Infrastructure;
using IoUringCache.Caching.Filling;

namespace CachingService.Tests.Model;

/// <summary>
/// One client: asks for anything, on one connection as long as that lasts, and checks what it is told. Used by one test task.
/// </summary>
internal sealed class ModelClient(TestService service, ModelBook book, int number, int seed) : IDisposable
{
    private static readonly string[] s_codings = ["", "gzip, deflate", "gzip, zstd", "zstd", "br"];
    private static readonly string[] s_directives = ["", "", "", "", "", "", "", "no-cache", "max-stale", "only-if-cached", "max-age=1"];

    private readonly Random _random = new(HashCode.Combine(seed, number));
    private readonly Dictionary<int, string> _tags = [];
    private RawClient? _connection;

    /// <summary>How requests ended, for the summary: what a run has not seen it has not tested.</summary>
    public List<string> Ends { get; } = [];

    /// <summary>The object changes, and whoever has changed it purges it, in one of the ways: nothing older is given to anybody after that.</summary>
    private void PurgeOne()
    {
        int key = _random.Next(ModelBook.Keys);
        int version = book.Change(key);
        switch (_random.Next(3))
        {
            case 0:
                service.Host.Cache.Purger.Purge(Purge.OfKey($"{key}", isSoft: false));
                break;
            case 1:
                service.Host.Cache.Purger.Purge(Purge.OfTag($"k{key}", isSoft: false));
                break;
            default:
                service.Host.Cache.Purger.Purge(Purge.OfAll(isSoft: false));
                break;
        }

        // Softly nobody is promised anything; it is there to meet the others.
        service.Host.Cache.Purger.Purge(Purge.OfTag($"k{_random.Next(ModelBook.Keys)}", isSoft: true));
        book.Invalidated(key, version);
        Ends.Add("purge");
    }

    public async Task AskAsync()
    {
        if (_random.Next(25) == 0)
        {
            PurgeOne();
        }

        int key = _random.Next(ModelBook.Keys);
        string language = _random.Next(2) == 0 ? "de" : "fr";
        string x = $"{_random.Next(2)}";
        string codings = s_codings[_random.Next(s_codings.Length)];
        string directive = s_directives[_random.Next(s_directives.Length)];
        string method = _random.Next(20) switch { 0 => "POST", <= 3 => "HEAD", _ => "GET" };
        string fields = $"Accept-Language: {language}\r\nX: {x}\r\n";
        fields += codings.Length == 0 ? "" : $"Accept-Encoding: {codings}\r\n";
        fields += directive.Length == 0 ? "" : $"Cache-Control: {directive}\r\n";
        string? tag = method != "POST" && _random.Next(4) == 0 ? _tags.GetValueOrDefault(key) : null;
        fields += tag is null ? "" : $"If-None-Match: {tag}\r\n";
        fields += method == "POST" ? "Content-Length: 0\r\n" : "";
        bool leaves = _random.Next(12) == 0;
        int floor = book.Floor(key);
        try
        {
            _connection ??= await RawClient.ConnectAsync(service.Url);
            await _connection.SendAsync($"/object/{key}", fields, method);
            RawResponse head = await _connection.ReadHeadAsync();
            if (leaves)
            {
                Drop();
                Ends.Add("left");
                return;
            }

            string body = method == "HEAD" || head.Status is 304 ? "" : await _connection.ReadBodyAsync(head);
            if (method == "POST")
            {
                if (head["X-Version"] is { } version)
                {
                    book.Invalidated(key, int.Parse(version, CultureInfo.InvariantCulture));
                }

                Ends.Add("invalidation");
                return;
            }

            Check(head, body);
            Ends.Add(EndOf(head, method));
        }
        catch (Exception cut) when (cut is IOException or SocketException)
        {
            Drop();
            Ends.Add("cut");
        }

        void Check(RawResponse head, string body)
        {
            string asked = $"{method} {key} {fields.Replace("\r\n", "; ", StringComparison.Ordinal)}";
            string context = $"client {number}: {asked}: {head.Head}{body[..Math.Min(body.Length, 60)]}";
            if (head.Status is not (200 or 304))
            {
                Assert.True(head.Status is 404 or 500 or 502 or 503 or 504, context);
                return;
            }

            int version;
            if (head.Status == 304)
            {
                // The origin's own may come without.
                Assert.True(tag is not null && (head["ETag"] ?? tag) == tag, context);
                version = ModelAnswer.VersionOf(tag);
            }
            else
            {
                string name = head["X-Model"] ?? "";
                if (method == "GET")
                {
                    ModelAnswer? answer = ModelAnswer.Parse(body);
                    Assert.True(answer is not null, context);
                    Assert.True(name.Length == 0 || answer.Name == name, context);
                    Assert.True(head["ETag"] is null || head["ETag"] == answer.Tag, context);
                    Assert.True(answer.Owner == 0 || book.TryOwn(answer.Owner, (number * 100_000) + Ends.Count), context);
                    name = answer.Name;
                }

                if (name.Length == 0)
                {
                    // A HEAD to which this field was not for everybody.
                    return;
                }

                string[] parts = name.Split('|');
                Assert.True(parts[0] == $"{key}" && parts[2] is "-" or "de" or "fr", context);
                Assert.True((parts[2] == "-" || parts[2] == language) && (parts[3] == "-" || parts[3] == x), context);
                Assert.True((head["Content-Encoding"] ?? "-") == parts[4], context);
                Assert.True(parts[4] == "-" || codings.Contains(parts[4], StringComparison.Ordinal), context);
                version = int.Parse(parts[1], CultureInfo.InvariantCulture);
                if (head["ETag"] is { } newTag)
                {
                    _tags[key] = newTag;
                }
            }

            Assert.True(version >= floor && version <= book.Current(key), $"{floor} <= {version} <= {book.Current(key)}: {context}");
        }
    }

    public void Dispose() => Drop();

    private static string EndOf(RawResponse head, string method)
    {
        string[] parts = head.CacheStatus.Split("; ");
        string[] told = [.. parts.Where(part => !part.StartsWith("ttl", StringComparison.Ordinal)).Skip(1)];
        return $"{method} {head.Status} {string.Join(" ", told)}";
    }

    private void Drop()
    {
        _connection?.Vanish();
        _connection = null;
    }
}
