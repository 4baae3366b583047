using System.Buffers.Text;
using System.Text;
using System.Text.Json.Nodes;
using NATS.NKeys;

namespace CachingService.Tests.Cluster;

/// <summary>
/// The operator of a NATS server with one account, whose users are known by signed tokens (JWT) alone; in files of a folder that goes with it.
/// </summary>
internal sealed class NatsOperator : IDisposable
{
    private const int SignatureBytes = 64;

    private static readonly string[] s_unlimited =
        ["subs", "data", "payload", "imports", "exports", "conn", "leaf", "mem_storage", "disk_storage", "streams", "consumer"];

    private readonly string _folder = Directory.CreateTempSubdirectory("nats-operator-").FullName;
    private readonly KeyPair _operator = KeyPair.CreatePair(PrefixByte.Operator);
    private readonly KeyPair _account = KeyPair.CreatePair(PrefixByte.Account);

    public NatsOperator()
    {
        // JetStream needs a system account beside the one that uses it.
        using KeyPair system = KeyPair.CreatePair(PrefixByte.Account);
        string operatorToken = Sign(_operator, _operator, "operator", []);
        string accountToken = Sign(_operator, _account, "account", new() { ["limits"] = Unlimited() });
        string systemToken = Sign(_operator, system, "account", []);
        File.WriteAllText(ConfigurationFile, $$"""
            operator: {{operatorToken}}
            system_account: {{system.GetPublicKey()}}
            resolver: MEMORY
            resolver_preload: {
              {{_account.GetPublicKey()}}: {{accountToken}}
              {{system.GetPublicKey()}}: {{systemToken}}
            }
            """);
    }

    /// <summary>For the server.</summary>
    public string ConfigurationFile => Path.Combine(_folder, "nats.conf");

    /// <summary>Writes the credentials of a new user of the account.</summary>
    /// <param name="isKnown">False: another operator has signed them.</param>
    public string WriteCredentials(bool isKnown = true)
    {
        using KeyPair user = KeyPair.CreatePair(PrefixByte.User);
        using KeyPair other = KeyPair.CreatePair(PrefixByte.Account);
        string token = Sign(isKnown ? _account : other, user, "user", new() { ["subs"] = -1, ["data"] = -1, ["payload"] = -1 });
        string path = Path.Combine(_folder, $"{user.GetPublicKey()}.creds");
        File.WriteAllText(path, $"""
            -----BEGIN NATS USER JWT-----
            {token}
            ------END NATS USER JWT------

            -----BEGIN USER NKEY SEED-----
            {user.GetSeed()}
            ------END USER NKEY SEED------

            """);
        return path;
    }

    public void Dispose()
    {
        _operator.Dispose();
        _account.Dispose();
        Directory.Delete(_folder, recursive: true);
    }

    private static JsonObject Unlimited()
    {
        JsonObject limits = new() { ["wildcards"] = true };
        foreach (string name in s_unlimited)
        {
            limits[name] = -1;
        }

        return limits;
    }

    /// <summary>A token in which one key says something of another.</summary>
    private static string Sign(KeyPair issuer, KeyPair subject, string type, JsonObject about)
    {
        (about["type"], about["version"]) = (type, 2);
        JsonObject claims = new()
        {
            ["jti"] = Guid.NewGuid().ToString("n"),
            ["iat"] = TimeProvider.System.GetUtcNow().ToUnixTimeSeconds(),
            ["iss"] = issuer.GetPublicKey(),
            ["sub"] = subject.GetPublicKey(),
            ["name"] = type,
            ["nats"] = about,
        };
        string text = $"{Encode("""{"typ":"JWT","alg":"ed25519-nkey"}""")}.{Encode(claims.ToJsonString())}";
        byte[] signature = new byte[SignatureBytes];
        issuer.Sign(Encoding.ASCII.GetBytes(text), signature);
        return $"{text}.{Base64Url.EncodeToString(signature)}";
    }

    private static string Encode(string text) => Base64Url.EncodeToString(Encoding.UTF8.GetBytes(text));
}
