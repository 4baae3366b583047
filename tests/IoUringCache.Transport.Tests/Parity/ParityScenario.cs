namespace IoUringCache.Transport.Tests.Parity;

/// <summary>One line of the table: something that a test says about a transport.</summary>
/// <param name="Area">The subject, from the folder and the class of the test.</param>
/// <param name="Text">The scenario in words, from the test's name and its data.</param>
/// <param name="RunsOnSockets">Whether Kestrel's Sockets transport runs it too; if not, it shows a deliberate difference.</param>
/// <param name="Difference">What differs on purpose; null if nothing does.</param>
internal sealed record ParityScenario(string Area, string Text, bool RunsOnSockets, string? Difference);
