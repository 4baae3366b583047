using static IoUringCache.Caching.Options.OptionCatalog;

namespace IoUringCache.Caching.Options;

/// <summary>The options of several nodes, which the service alone has; as <see cref="OptionCatalog"/>. Immutable; any thread.</summary>
internal static class ClusterOptionCatalog
{
    private const string NatsName = "Cache:Cluster:Nats";

    public static readonly Option<string?> Nats = new(
        NatsName, "", "URL[,URL...]",
        "NATS servers with JetStream that carry purges from node to node: nats:// or tls://, with user:password@ where needed. Empty: one node.",
        static text =>
        {
            try
            {
                return AddressParser.OptionalNats(text);
            }
            catch (FormatException failure)
            {
                // Without the text, which may have a password in it.
                throw new OptionException($"Option {NatsName}: is not valid: {failure.Message}") { Name = NatsName };
            }
        });

    public static readonly Option<string> Name = new(
        "Cache:Cluster:Name", "cache", "name",
        "Name of the cluster, the same on all nodes: its stream is NAME-purges, its bucket of nodes NAME-nodes.", ValueParser.ClusterName);

    public static readonly Option<string?> Node = OptionalText(
        "Cache:Cluster:Node", "name", "Name of this node, of no other one's in the cluster. Empty: the machine's with the first public port.");

    public static readonly Option<string?> CredentialsFile = OptionalFile(
        "Cache:Cluster:CredentialsFile", "File with the JWT and the key of a NATS user (.creds).");

    public static readonly Option<string?> CaFile = OptionalFile(
        "Cache:Cluster:CaFile", "PEM file with the authorities that NATS servers' certificates may come from. Empty: those of the system.");

    public static readonly Option<TimeSpan> MaxSilence = Duration(
        "Cache:Cluster:MaxSilence", "10s", TimeSpan.FromSeconds(1), TimeSpan.FromHours(1),
        "How long a node may be without word from the log of purges before it is cut off. The same on all nodes.");

    public static readonly Option<CutOffUse> WhenCutOff = Choice<CutOffUse>(
        "Cache:Cluster:WhenCutOff", "Serve",
        "What a node does that is cut off. Serve: as before, so purges may reach it late. Validate: it has the origin confirm each response.");

    public static readonly Option<bool> Required = Flag(
        "Cache:Cluster:Required", "Refuse to start where the log of purges is not reached within Cache:Cluster:MaxSilence. Else: start, cut off.");

    public static readonly Option<bool> HasShields = Flag(
        "Cache:Cluster:HasShields",
        "The origin is other nodes of this cluster. A purge counts here when they have applied it too, for until then they serve what it purged.");

    public static readonly Option<TimeSpan> KeepPurges = Duration(
        "Cache:Cluster:KeepPurges", "7d", TimeSpan.FromMinutes(1), TimeSpan.FromDays(365),
        "How long the log keeps a purge, where this node makes it. A node that was away for longer has all that it holds confirmed.");

    public static readonly Option<int> Replicas = Count(
        "Cache:Cluster:Replicas", "1", 1, 5, "NATS servers that keep the log, where this node makes it: 3 where there are as many.");

    /// <summary>In the order of <c>--help</c>.</summary>
    public static readonly IReadOnlyList<Option> All =
    [
        Nats, Name, Node, CredentialsFile, CaFile, MaxSilence, WhenCutOff, Required, HasShields, KeepPurges, Replicas,
    ];
}

/// <summary>What a node does that may not know of all purges.</summary>
internal enum CutOffUse
{
    /// <summary>Serves as before.</summary>
    Serve,

    /// <summary>Has the origin confirm whatever it serves.</summary>
    Validate,
}
