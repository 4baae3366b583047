using IoUringCache.Caching.Options;

namespace IoUringCache.Clustering;

/// <summary>
/// Checked values of the <c>Cache:Cluster:...</c> options; meanings and units in <see cref="OptionCatalog"/>. Immutable; any thread.
/// </summary>
internal sealed record ClusterOptions
{
    /// <summary>May hold a password.</summary>
    public required string Nats { get; init; }

    public required string Name { get; init; }

    public required string Node { get; init; }

    public required string? CredentialsFile { get; init; }

    public required string? CaFile { get; init; }

    public required TimeSpan MaxSilence { get; init; }

    public required CutOffUse WhenCutOff { get; init; }

    public required bool IsRequired { get; init; }

    public required bool HasShields { get; init; }

    public required TimeSpan KeepPurges { get; init; }

    public required int Replicas { get; init; }

    /// <summary>The log of purges.</summary>
    public string Stream => $"{Name}-purges";

    /// <summary>Its one subject.</summary>
    public string Subject => $"{Name}.purges";

    /// <summary>The bucket of the nodes' reports.</summary>
    public string Bucket => $"{Name}-nodes";

    /// <param name="defaultNode">Name of the node if no option has it.</param>
    /// <returns><see langword="null"/> without a cluster.</returns>
    /// <exception cref="OptionException">A value is not valid, a file cannot be read, or an option has no use.</exception>
    public static ClusterOptions? Read(IConfiguration configuration, string defaultNode)
    {
        if (ClusterOptionCatalog.Nats.Read(configuration) is not { } nats)
        {
            return ClusterOptionCatalog.All.FirstOrDefault(option => option != ClusterOptionCatalog.Nats && configuration[option.Name] is not null) is { } useless
                ? throw new OptionException($"Option {useless.Name}: has no use without {ClusterOptionCatalog.Nats.Name}.")
                : null;
        }

        return new()
        {
            Nats = nats,
            Name = ClusterOptionCatalog.Name.Read(configuration),
            Node = ClusterOptionCatalog.Node.Read(configuration) ?? defaultNode,
            CredentialsFile = FileOf(ClusterOptionCatalog.CredentialsFile, configuration),
            CaFile = FileOf(ClusterOptionCatalog.CaFile, configuration),
            MaxSilence = ClusterOptionCatalog.MaxSilence.Read(configuration),
            WhenCutOff = ClusterOptionCatalog.WhenCutOff.Read(configuration),
            IsRequired = ClusterOptionCatalog.Required.Read(configuration),
            HasShields = ClusterOptionCatalog.HasShields.Read(configuration),
            KeepPurges = ClusterOptionCatalog.KeepPurges.Read(configuration),
            Replicas = ClusterOptionCatalog.Replicas.Read(configuration),
        };
    }

    /// <summary>Without the members, of which one may hold a secret.</summary>
    public override string ToString() => nameof(ClusterOptions);

    /// <summary>Checks a file that the client of NATS reads only when it connects.</summary>
    private static string? FileOf(Option<string?> option, IConfiguration configuration)
    {
        string? path = option.Read(configuration);
        try
        {
            if (path is not null)
            {
                File.OpenRead(path).Dispose();
            }

            return path;
        }
        catch (Exception failure) when (failure is IOException or UnauthorizedAccessException)
        {
            throw new OptionException($"Option {option.Name}: cannot read '{path}': {failure.Message}");
        }
    }
}
