using System.Buffers;

namespace IoUringCache.Caching.Options;

/// <summary>Checked values that concern the operator's side; meanings and units in <see cref="OptionCatalog"/>. Immutable; any thread.</summary>
internal sealed record AdminOptions
{
    private const int ShortestToken = 16;

    /// <summary>What may be in a bearer token (RFC 6750 2.1).</summary>
    private static readonly SearchValues<char> s_tokenCharacters =
        SearchValues.Create("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~+/=");

    /// <summary><see langword="null"/>: no admin listener.</summary>
    public required string? Url { get; init; }

    /// <summary><see langword="null"/>: nothing that needs one is allowed. Never logged.</summary>
    public required string? Token { get; init; }

    /// <summary>Base URL of a collector; <see langword="null"/>: none.</summary>
    public required string? OtlpEndpoint { get; init; }

    public required TimeSpan OtlpInterval { get; init; }

    /// <summary>Share of the traces that begin here; 0: there are no spans.</summary>
    public required double OtlpTraces { get; init; }

    /// <exception cref="OptionException">A value is not valid, or is for nothing.</exception>
    public static AdminOptions Read(IConfiguration configuration)
    {
        AdminOptions options = new()
        {
            Url = OptionCatalog.AdminUrl.Read(configuration),
            Token = ReadToken(configuration),
            OtlpEndpoint = OptionCatalog.OtlpEndpoint.Read(configuration),
            OtlpInterval = OptionCatalog.OtlpInterval.Read(configuration),
            OtlpTraces = OptionCatalog.OtlpTraces.Read(configuration),
        };
        return options.OtlpTraces == 0 || options.OtlpEndpoint is not null
            ? options
            : throw new OptionException($"Option {OptionCatalog.OtlpTraces.Name}: cannot be given without {OptionCatalog.OtlpEndpoint.Name}.");
    }

    /// <summary>Without the members, of which one is a secret.</summary>
    public override string ToString() => nameof(AdminOptions);

    /// <summary>Whether a text can be a token: 16 letters, digits or any of <c>-._~+/=</c> at least.</summary>
    public static bool IsToken(string text) => text.Length >= ShortestToken && !text.AsSpan().ContainsAnyExcept(s_tokenCharacters);

    private static string? ReadToken(IConfiguration configuration)
    {
        string token = OptionCatalog.AdminToken.Read(configuration);
        string file = OptionCatalog.AdminTokenFile.Read(configuration);
        if (file.Length == 0)
        {
            return token.Length == 0 ? null : Check(token, OptionCatalog.AdminToken);
        }

        if (token.Length > 0)
        {
            throw new OptionException($"Option {OptionCatalog.AdminTokenFile.Name}: cannot be given together with {OptionCatalog.AdminToken.Name}.");
        }

        try
        {
            return Check(File.ReadAllText(file).Trim(), OptionCatalog.AdminTokenFile);
        }
        catch (Exception failure) when (failure is IOException or UnauthorizedAccessException)
        {
            throw new OptionException($"Option {OptionCatalog.AdminTokenFile.Name}: cannot read '{file}': {failure.Message}");
        }
    }

    /// <summary>Without telling the token, which is in nobody's log.</summary>
    private static string Check(string token, Option option) =>
        IsToken(token)
            ? token
            : throw new OptionException(
                $"Option {option.Name}: the token is not valid: expected at least {ShortestToken} letters, digits or any of -._~+/= .");
}
