using System.Security.Cryptography;
using System.Text;
using IoUringCache.Caching.Options;
using IoUringCache.Caching.Serving;
using Microsoft.AspNetCore.Authorization;
using Microsoft.Net.Http.Headers;

namespace IoUringCache.Caching.Admin;

/// <summary>
/// Lets those through who know the token (RFC 6750 2.1), or whom the application authorizes, and nobody where it asks for neither. Keeps only a hash of it, which makes texts of all
/// lengths take equally long to compare. Any thread.
/// </summary>
internal sealed class AdminGuard(string? token)
{
    private const string Scheme = "Bearer ";

    private readonly byte[]? _hash = token is null ? null : SHA256.HashData(Encoding.UTF8.GetBytes(token));

    public bool HasToken => _hash is not null;

    public RequestDelegate Protect(RequestDelegate handler) => context => Check(context) ? handler(context) : Task.CompletedTask;

    private bool Check(HttpContext context)
    {
        EndpointMetadataCollection? metadata = context.GetEndpoint()?.Metadata;
        if (metadata?.GetMetadata<IAuthorizeData>() is not null && metadata.GetMetadata<IAllowAnonymous>() is null)
        {
            // The application has asked for it, and its authorization has let the request through; without that the framework refuses.
            return true;
        }

        if (_hash is null)
        {
            JsonAnswer.Refuse(
                context,
                StatusCodes.Status403Forbidden,
                $"needs a token: set {OptionCatalog.AdminToken.Name} or {OptionCatalog.AdminTokenFile.Name}");
            return false;
        }

        string given = context.Request.Headers.Authorization.ToString();
        if (given.StartsWith(Scheme, StringComparison.OrdinalIgnoreCase)
            && CryptographicOperations.FixedTimeEquals(SHA256.HashData(Encoding.UTF8.GetBytes(given[Scheme.Length..].Trim())), _hash))
        {
            return true;
        }

        context.Response.Headers[HeaderNames.WWWAuthenticate] = given.Length == 0 ? "Bearer" : "Bearer error=\"invalid_token\"";
        JsonAnswer.Refuse(context, StatusCodes.Status401Unauthorized, "needs 'Authorization: Bearer' and the token of this service");
        return false;
    }
}
