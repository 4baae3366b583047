using IoUringCache.Caching.Http;
using IoUringCache.Caching.Serving;

namespace CachingService.Routes;

/// <summary>Gives each response of a route fields of the operator's, or takes some away. Any thread; one per route.</summary>
/// <param name="fields">Without a value: taken away.</param>
internal sealed class ResponseFieldRule(IReadOnlyList<HeaderField> fields)
{
    public ObjectHandler Before(ObjectHandler next) => (context, address) =>
    {
        context.Response.OnStarting(() =>
        {
            IHeaderDictionary response = context.Response.Headers;
            foreach (HeaderField field in fields)
            {
                // Without a value it is removed.
                response[field.Name] = field.Values;
            }

            return Task.CompletedTask;
        });
        return next(context, address);
    };
}
