using System.Collections.Frozen;
using System.Diagnostics.CodeAnalysis;
using IoUringCache.Caching.Options;

namespace CachingService.Options;

/// <summary>The secrets by which URLs of a route are signed, by the id of each; meanings in <see cref="SignedUrlOptionCatalog"/>. No message has a secret. Immutable; any thread.</summary>
internal sealed class SignedUrlKeys
{
    public const string Expires = "expires";
    public const string Id = "key";
    public const string Signature = "signature";

    /// <summary>The query parameters that a signed URL ends with, in this order. They are neither in keys nor sent to the origin.</summary>
    public static readonly IReadOnlyList<string> Parameters = [Expires, Id, Signature];

    private const int ShortestSecret = 16;
    private const int LongestId = 64;

    private readonly FrozenDictionary<string, byte[]>.AlternateLookup<ReadOnlySpan<char>> _secrets;

    private SignedUrlKeys(Dictionary<string, byte[]> secrets) =>
        _secrets = secrets.ToFrozenDictionary(StringComparer.Ordinal).GetAlternateLookup<ReadOnlySpan<char>>();

    /// <summary>A route that has either option has nothing of the service's.</summary>
    /// <returns><see langword="null"/> if URLs need no signature.</returns>
    /// <exception cref="OptionException">A key is not valid, the file cannot be read or has none, or both are given.</exception>
    public static SignedUrlKeys? From(OptionValues values)
    {
        bool hasKeys = values.Has(SignedUrlOptionCatalog.Keys);
        bool hasFile = values.Has(SignedUrlOptionCatalog.KeysFile);
        if (!hasKeys && !hasFile)
        {
            return values.General is { } general ? From(general) : null;
        }

        string keys = hasKeys ? values.Get(SignedUrlOptionCatalog.Keys) : "";
        string file = hasFile ? values.Get(SignedUrlOptionCatalog.KeysFile) : "";
        return (keys, file) switch
        {
            ("", "") => null,
            (_, "") => Parse(keys, values.NameOf(SignedUrlOptionCatalog.Keys)),
            ("", _) => Parse(ReadFile(file, values.NameOf(SignedUrlOptionCatalog.KeysFile)), values.NameOf(SignedUrlOptionCatalog.KeysFile)),
            _ => throw Wrong(values.NameOf(SignedUrlOptionCatalog.KeysFile), $"cannot be given together with {values.NameOf(SignedUrlOptionCatalog.Keys)}."),
        };
    }

    /// <returns>Whether there is a key of this id.</returns>
    public bool TryFind(ReadOnlySpan<char> id, [NotNullWhen(true)] out byte[]? secret) => _secrets.TryGetValue(id, out secret);

    private static SignedUrlKeys Parse(string text, string name)
    {
        Dictionary<string, byte[]> secrets = new(StringComparer.Ordinal);
        string[] keys = text.Split([';', '\n'], StringSplitOptions.RemoveEmptyEntries | StringSplitOptions.TrimEntries);
        for (int index = 0; index < keys.Length; index++)
        {
            if (keys[index].Split(':', 2) is not [var id, var encoded] || !IsId(id) || Decode(encoded) is not { Length: >= ShortestSecret } secret)
            {
                throw Wrong(name, $"key {index + 1} is not valid: expected id:secret, the id of letters, digits, - _ and . and the secret of at least {ShortestSecret} bytes as base64.");
            }

            if (!secrets.TryAdd(id, secret))
            {
                throw Wrong(name, $"key {index + 1} has the id of another.");
            }
        }

        return secrets.Count > 0 ? new(secrets) : throw Wrong(name, "has no key.");
    }

    private static bool IsId(string text) =>
        text.Length is > 0 and <= LongestId && text.All(static character => char.IsAsciiLetterOrDigit(character) || character is '-' or '_' or '.');

    private static byte[]? Decode(string text)
    {
        byte[] bytes = new byte[text.Length];
        return Convert.TryFromBase64String(text, bytes, out int count) ? bytes[..count] : null;
    }

    private static string ReadFile(string path, string name)
    {
        try
        {
            return File.ReadAllText(path);
        }
        catch (Exception failure) when (failure is IOException or UnauthorizedAccessException or ArgumentException)
        {
            throw Wrong(name, $"cannot read '{path}': {failure.Message}");
        }
    }

    private static OptionException Wrong(string name, string reason) => new($"Option {name}: {reason}") { Name = name };
}
