using System.Buffers.Text;
using System.Globalization;
using System.Security.Cryptography;
using System.Text;
using CachingService.Options;
using IoUringCache.Caching.Http;
using IoUringCache.Caching.Serving;
using Microsoft.AspNetCore.Http.Features;

namespace CachingService.Routes;

/// <summary>
/// Refuses requests of a route whose URL is not signed, or no more: <c>expires=1795000000&amp;key=ID&amp;signature=BASE64URL</c>, an HMAC-SHA256 of the
/// path and query before <c>&amp;signature=</c>. A <c>PURGE</c> for the service needs none: its own permission counts. Any thread; one per route.
/// </summary>
internal sealed class SignatureRule(SignedUrlKeys keys, TimeProvider time, RouteRefusals refusals)
{
    /// <summary>Of the signature, in characters.</summary>
    private const int SignatureLength = 43;

    public ObjectHandler Before(ObjectHandler next) => (context, address) =>
        PurgeMethod.IsFor(context, address) || FindFault(context) is not { } fault ? next(context, address) : refusals.SendForbidden(context, address, fault);

    /// <returns>The reason to refuse it; <see langword="null"/> if the signature is right.</returns>
    private string? FindFault(HttpContext context)
    {
        // The gate has found it valid: this takes scheme and host off.
        RequestTarget.Check(context.Features.GetRequiredFeature<IHttpRequestFeature>().RawTarget, out string target);
        int query = target.IndexOf('?');
        string[] parameters = query < 0 ? [] : target[(query + 1)..].Split('&');
        string[] own = [.. parameters.Where(static parameter => SignedUrlKeys.Parameters.Contains(parameter.Split('=')[0]))];
        if (!own.Any(static parameter => TryRead(parameter, SignedUrlKeys.Signature, out _)))
        {
            return RouteRefusals.SignatureMissing;
        }

        if (own is not [var first, var second, var third]
            || !TryRead(first, SignedUrlKeys.Expires, out string expires)
            || !TryRead(second, SignedUrlKeys.Id, out string id)
            || !TryRead(third, SignedUrlKeys.Signature, out string signature)
            || third != parameters[^1]
            || !long.TryParse(expires, NumberStyles.None, CultureInfo.InvariantCulture, out long end))
        {
            return RouteRefusals.SignatureMalformed;
        }

        return !keys.TryFind(id, out byte[]? secret) ? RouteRefusals.SignatureKeyUnknown
            : !IsRight(signature, target[..^(third.Length + 1)], secret) ? RouteRefusals.SignatureWrong
            : time.GetUtcNow().ToUnixTimeSeconds() >= end ? RouteRefusals.SignatureExpired
            : null;
    }

    private static bool TryRead(string parameter, string name, out string value)
    {
        bool isIt = parameter.Length > name.Length && parameter[name.Length] == '=' && parameter.StartsWith(name, StringComparison.Ordinal);
        value = isIt ? parameter[(name.Length + 1)..] : "";
        return isIt;
    }

    private static bool IsRight(string signature, string text, byte[] secret)
    {
        Span<byte> hash = stackalloc byte[HMACSHA256.HashSizeInBytes];
        HMACSHA256.HashData(secret, Encoding.ASCII.GetBytes(text), hash);
        Span<byte> expected = stackalloc byte[SignatureLength];
        Base64Url.EncodeToUtf8(hash, expected);
        return CryptographicOperations.FixedTimeEquals(expected, Encoding.ASCII.GetBytes(signature));
    }
}
