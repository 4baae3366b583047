namespace IoUringCache.Caching.Options;

/// <summary>The options of routes whose objects only signed URLs have; as <see cref="OptionCatalog"/>. Immutable; any thread.</summary>
internal static class SignedUrlOptionCatalog
{
    /// <summary>Not checked here: a message about a wrong value would have the secrets in it.</summary>
    public static readonly Option<string> Keys = OptionCatalog.Text(
        "Cache:SignedUrlKeys", "id:secret[;id:secret...]",
        "Keys of signed URLs: others get 403. A secret is 16 bytes or more as base64. Not on the command line. Empty: URLs need no signature.");

    public static readonly Option<string> KeysFile = OptionCatalog.Text(
        "Cache:SignedUrlKeysFile", "path", "File that holds these keys, one on a line, instead of Cache:SignedUrlKeys; read again on SIGHUP.");

    /// <summary>In the order of <c>--help</c>.</summary>
    public static readonly IReadOnlyList<Option> All = [Keys, KeysFile];
}
