using IoUringCache.Transport.ZeroCopy;
using Microsoft.AspNetCore.Http.Features;

namespace Microsoft.AspNetCore.Builder;

/// <summary>Middleware of the transport.</summary>
public static class ApplicationBuilderIoUringExtensions
{
    /// <summary>
    /// From here on, files that are sent as files (<c>SendFileAsync</c>, <c>Results.File</c> with a path, static files; ranges of them
    /// included) leave by sendfile(2) from the kernel's page cache instead of being read and copied. Everything else is as before; so are
    /// files over TLS, HTTP/2 or another transport, without a Content-Length, or behind middleware that changes bodies.
    /// </summary>
    /// <param name="app">The application. First of all middleware, so that what replaces bodies comes after it.</param>
    /// <returns>The same application.</returns>
    /// <example><code>
    /// WebApplication app = builder.Build();
    /// app.UseIoUringSendFile();
    /// app.UseStaticFiles();
    /// </code></example>
    public static IApplicationBuilder UseIoUringSendFile(this IApplicationBuilder app)
    {
        ArgumentNullException.ThrowIfNull(app);
        return app.Use((context, next) =>
        {
            if (context.Features.Get<IZeroCopyFeature>() is not null && context.Features.Get<IHttpResponseBodyFeature>() is { } body)
            {
                context.Features.Set<IHttpResponseBodyFeature>(new SendFileBody(context, body));
            }

            return next(context);
        });
    }
}
