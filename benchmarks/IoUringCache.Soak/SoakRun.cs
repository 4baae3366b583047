namespace IoUringCache.Soak;

/// <summary>Warms the server up, runs the scenarios one after the other, and compares what the server holds after each with the start.</summary>
internal static class SoakRun
{
    /// <summary>Long enough to compile everything and to fill the pools.</summary>
    private static readonly TimeSpan s_warmUp = TimeSpan.FromSeconds(3);

    /// <summary>True if nothing is missing.</summary>
    internal static async Task<bool> RunAsync(SoakOptions options)
    {
        await using ServerProcess server = ServerProcess.Start(options.Scheduling);
        ServerReport empty = await server.ReportAsync();
        foreach ((string name, _) in SoakOptions.Scenarios)
        {
            await new Scenario(server, empty.Port, options, s_warmUp).RunAsync(name);
        }

        ServerReport start = await WarmAsync(server, empty);
        Console.WriteLine($"after the warm-up: {start}");
        bool isWhole = true;
        double shares = SoakOptions.Scenarios.Where(scenario => Includes(options, scenario.Name)).Sum(scenario => scenario.Share);
        foreach ((string name, double share) in SoakOptions.Scenarios.Where(scenario => Includes(options, scenario.Name)))
        {
            string outcome = await new Scenario(server, empty.Port, options, options.Duration * (share / shares)).RunAsync(name);
            Console.WriteLine($"{name}: {outcome}");
            ServerReport report = await server.SettleAsync(start);
            Console.WriteLine($"{name}: afterwards {report}");
            foreach (string difference in report.DifferencesFrom(start))
            {
                Console.WriteLine($"FAILED  {name}: {difference}");
                isWhole = false;
            }
        }

        Console.WriteLine(isWhole ? "everything is back" : "something is missing");
        return isWhole;
    }

    /// <summary>The counts after the warm-up must be those of a server that has done nothing; its memory is what the rest is judged by.</summary>
    private static async Task<ServerReport> WarmAsync(ServerProcess server, ServerReport empty)
    {
        ServerReport expected = empty with { ManagedBytes = long.MaxValue / 2, ResidentBytes = long.MaxValue / 2 };
        ServerReport warm = await server.SettleAsync(expected);
        return expected with { ManagedBytes = warm.ManagedBytes, ResidentBytes = warm.ResidentBytes };
    }

    private static bool Includes(SoakOptions options, string name) => options.Scenario is null || options.Scenario == name;
}
