namespace IoUringCache.Soak;

/// <summary>What a scenario works with.</summary>
/// <param name="Server">The server.</param>
/// <param name="Port">Its port.</param>
/// <param name="Options">The command line.</param>
/// <param name="Duration">Time for this scenario.</param>
internal sealed record Scenario(ServerProcess Server, int Port, SoakOptions Options, TimeSpan Duration)
{
    /// <summary>Runs the scenario of a name; ends with a line about what it did.</summary>
    /// <exception cref="SoakException">The server did something wrong.</exception>
    internal Task<string> RunAsync(string name) => name switch
    {
        "churn" => Churn.RunAsync(this),
        "slow" => SlowPeers.RunAsync(this),
        "idle" => IdleConnections.RunAsync(this),
        "slowloris" => Slowloris.RunAsync(this),
        _ => NeverRead.RunAsync(this),
    };
}
