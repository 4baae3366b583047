namespace CachingService.Tests.Infrastructure;

/// <summary>Status line and fields of a response, as they came.</summary>
internal sealed record RawResponse(string Head)
{
    public int Status => int.Parse(Head.Split(' ')[1], System.Globalization.CultureInfo.InvariantCulture);

    public string? this[string name]
    {
        get
        {
            List<string> values = Head.Split("\r\n").Skip(1)
                .Where(line => line.StartsWith(name + ":", StringComparison.OrdinalIgnoreCase))
                .Select(line => line[(name.Length + 1)..].Trim()).ToList();
            return values.Count == 0 ? null : string.Join(", ", values);
        }
    }

    public string CacheStatus => this["Cache-Status"] ?? "";
}
