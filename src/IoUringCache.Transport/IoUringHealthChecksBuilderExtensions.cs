using IoUringCache.Transport;
using IoUringCache.Transport.Internal.Hosting;
using Microsoft.Extensions.Diagnostics.HealthChecks;

namespace Microsoft.Extensions.DependencyInjection;

/// <summary>Adds a health check of the io_uring transport.</summary>
public static class IoUringHealthChecksBuilderExtensions
{
    /// <summary>
    /// Adds a check that reports a host that serves on the Sockets transport though
    /// <see cref="IoUringTransportOptions.Backend"/> asks for io_uring, and is healthy otherwise, before the first bind
    /// too. Its description and its data (<c>backend</c>, <c>reason</c>, <c>loops</c>, <c>ringFeatures</c>) are those
    /// of <see cref="IoUringTransportInfo"/>. The host must have the transport.
    /// </summary>
    /// <param name="builder">The host's health checks.</param>
    /// <param name="name">The name of the check. Not null.</param>
    /// <param name="failureStatus">
    /// What the check reports where Sockets serves instead. Defaults to <see langword="null"/>:
    /// <see cref="HealthStatus.Degraded"/>.
    /// </param>
    /// <param name="tags">Tags to select checks by. Defaults to <see langword="null"/>: none.</param>
    /// <returns>The same builder.</returns>
    /// <example><code>
    /// builder.Services.AddHealthChecks().AddIoUringTransport();
    /// </code></example>
    public static IHealthChecksBuilder AddIoUringTransport(
        this IHealthChecksBuilder builder, string name = "iouring_transport", HealthStatus? failureStatus = null, IEnumerable<string>? tags = null)
    {
        ArgumentNullException.ThrowIfNull(builder);
        return builder.AddCheck<IoUringTransportHealthCheck>(name, failureStatus ?? HealthStatus.Degraded, tags ?? []);
    }
}
