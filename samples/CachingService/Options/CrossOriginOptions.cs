using IoUringCache.Caching.Options;
using Microsoft.AspNetCore.Cors.Infrastructure;

namespace CachingService.Options;

/// <summary>Whose scripts may use a route; meanings in <see cref="RouteOptionCatalog"/>. Immutable; any thread.</summary>
internal static class CrossOriginOptions
{
    /// <returns><see langword="null"/> if the origin says it itself.</returns>
    /// <exception cref="OptionException">Two do not fit together.</exception>
    public static CorsPolicy? From(OptionValues values)
    {
        string[] origins = values.Get(RouteOptionCatalog.CorsOrigins);
        if (origins.Length == 0)
        {
            return null;
        }

        CorsPolicyBuilder policy = new CorsPolicyBuilder(origins)
            .WithMethods(values.Get(RouteOptionCatalog.CorsMethods))
            .WithHeaders(values.Get(RouteOptionCatalog.CorsFields))
            .WithExposedHeaders(values.Get(RouteOptionCatalog.CorsExposedFields))
            .SetPreflightMaxAge(values.Get(RouteOptionCatalog.CorsMaxAge));
        if (values.Get(RouteOptionCatalog.CorsCredentials))
        {
            // Any site's scripts could act for a user who is logged in here (Fetch standard, 3.3.5).
            policy = origins is not ["*"] ? policy.AllowCredentials() : throw new OptionException(
                $"Option {values.NameOf(RouteOptionCatalog.CorsCredentials)}: cannot be given together with * as {RouteOptionCatalog.CorsOrigins.Name}.");
        }

        return policy.Build();
    }
}
