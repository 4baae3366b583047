using System.Reflection;
using IoUringCache.Transport.Tests.Support;
using Xunit.Sdk;
using Xunit.v3;

namespace IoUringCache.Transport.Tests.Parity;

/// <summary>Finds the scenarios of the parity suite among the tests: theories whose data name every transport.</summary>
internal static class ParityScenarios
{
    /// <summary>
    /// The scenarios of an assembly, in the order of their areas and words. Data rows that differ only in the transport are one scenario.
    /// </summary>
    internal static async Task<IReadOnlyList<ParityScenario>> FindAsync(IEnumerable<Type> types)
    {
        List<ParityScenario> scenarios = [];
        foreach (MethodInfo method in types.SelectMany(type => type.GetMethods()))
        {
            scenarios.AddRange(await OfAsync(method));
        }

        return
        [
            .. scenarios.OrderBy(scenario => scenario.Area, StringComparer.Ordinal).ThenBy(scenario => scenario.Text, StringComparer.Ordinal),
        ];
    }

    private static async Task<IEnumerable<ParityScenario>> OfAsync(MethodInfo method)
    {
        TheoryAttribute? theory = method.GetCustomAttribute<TheoryAttribute>();
        ParameterInfo[] parameters = method.GetParameters();
        if (theory is null or { Explicit: true } || parameters.FirstOrDefault()?.ParameterType != typeof(TransportKind))
        {
            return [];
        }

        List<object?[]> rows = [];
        await using DisposalTracker tracker = new();
        foreach (IDataAttribute data in method.GetCustomAttributes().OfType<IDataAttribute>())
        {
            if (data is MemberDataAttribute member)
            {
                member.MemberType ??= method.ReflectedType; // The runner does it too; there are no rows without.
            }

            rows.AddRange((await data.GetData(method, tracker)).Select(row => row.GetData()));
        }

        string? difference = method.GetCustomAttribute<DeliberateDifferenceAttribute>()?.Text;
        return
            from row in rows
            group (TransportKind)row[0]! by ScenarioWords.Of(method.Name, parameters[1..], row[1..]) into scenario
            let runsOnSockets = scenario.Distinct().Count() == Enum.GetValues<TransportKind>().Length
            where runsOnSockets || difference is not null
            select new ParityScenario(ScenarioWords.AreaOf(method.ReflectedType!), scenario.Key, runsOnSockets, difference);
    }
}
