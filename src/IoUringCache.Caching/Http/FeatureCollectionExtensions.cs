using System.Runtime.CompilerServices;
using Microsoft.AspNetCore.Http.Features;

namespace IoUringCache.Caching.Http;

/// <summary>Looks for the features of requests and connections. One thread at a time, as their collection.</summary>
internal static class FeatureCollectionExtensions
{
    /// <summary>
    /// What <c>Get</c> returns, without its generic virtual calls, which the runtime looks up anew at each collection on the way: for what every
    /// request asks for.
    /// </summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    public static TFeature? Find<TFeature>(this IFeatureCollection features)
        where TFeature : class => (TFeature?)features[typeof(TFeature)];
}
