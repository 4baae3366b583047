using IoUringCache.Caching.Http;
using IoUringCache.Caching.Options;
using Microsoft.AspNetCore.Http;
using Microsoft.Extensions.Configuration;
using Microsoft.Extensions.Primitives;

namespace CachingService.Tests.Infrastructure;

/// <summary>Heads, receipts and options for tests of the rules.</summary>
internal static class Heads
{
    /// <summary>The time of all receipts, at which <see cref="FakeTime"/> starts too: Tue, 01 Jan 2030 00:00:00 GMT.</summary>
    public static readonly DateTimeOffset Now = new(2030, 1, 1, 0, 0, 0, TimeSpan.Zero);

    /// <param name="fields">Lines of <c>Name: value</c>.</param>
    /// <param name="status">Of the response.</param>
    public static ResponseHead Create(string fields, int status = 200) => new(
        status,
        [
            .. fields.Split("\r\n", StringSplitOptions.RemoveEmptyEntries)
                .Select(line => line.Split(':', 2))
                .GroupBy(parts => parts[0], StringComparer.OrdinalIgnoreCase)
                .Select(lines => new HeaderField(lines.Key, new StringValues([.. lines.Select(parts => parts[1].Trim())]))),
        ],
        contentLength: null);

    /// <summary>A request's fields.</summary>
    /// <param name="fields">Lines of <c>Name: value</c>.</param>
    public static HeaderDictionary Request(string fields) =>
        new(Create(fields).Fields.ToDictionary(field => field.Name, field => field.Values, StringComparer.OrdinalIgnoreCase));

    public static SharingVerdict Judge(string fields, int status = 200, params string[] options) =>
        SharingRules.Judge(Create(fields, status), new(Now, TimeSpan.Zero), OptionsOf(options).Routes.General.Freshness);

    /// <param name="settings"><c>Cache:Name=value</c> each.</param>
    public static CacheOptions OptionsOf(params string[] settings) => new(ValuesOf(settings));

    /// <inheritdoc cref="OptionsOf"/>
    public static OptionValues ValuesOf(params string[] settings)
    {
        OptionValues values = new(OptionValues.CacheSection);
        values.Read(new ConfigurationBuilder()
            .AddInMemoryCollection(settings.ToDictionary(setting => setting.Split('=', 2)[0], setting => (string?)setting.Split('=', 2)[1]))
            .Build()
            .GetSection(OptionValues.CacheSection));
        return values;
    }
}
