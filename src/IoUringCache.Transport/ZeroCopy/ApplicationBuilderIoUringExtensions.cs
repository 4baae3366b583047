using System.Diagnostics.CodeAnalysis;
using IoUringCache.Transport.ZeroCopy;
using Microsoft.AspNetCore.Http.Features;

namespace Microsoft.AspNetCore.Builder;

/// <summary>Middleware of the transport.</summary>
[Experimental("IOURING002", Message = ZeroCopyWriter.ExperimentalMessage)]
public static class ApplicationBuilderIoUringExtensions
{
    /// <summary>
    /// Sends files (<c>SendFileAsync</c>, <c>Results.File</c> with a path, static files, ranges of them) by sendfile(2)
    /// from the kernel's page cache instead of reading and copying them. Files over TLS, HTTP/2 or another transport,
    /// without a Content-Length, or behind middleware that changes bodies are sent as before.
    /// </summary>
    /// <param name="app">The application. Call it before other middleware, so that middleware that replaces bodies
    /// comes after it.</param>
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
