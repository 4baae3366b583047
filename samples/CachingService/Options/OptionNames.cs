using IoUringCache.Caching.Options;
namespace CachingService.Options;

/// <summary>The names of the service's own options, those of routes included. Any thread.</summary>
internal static class OptionNames
{
    public static bool Contain(string name) =>
        OptionCatalog.All.Any(option => option.Name.Equals(name, StringComparison.OrdinalIgnoreCase)) || RoutePolicy.IsName(name);
}
