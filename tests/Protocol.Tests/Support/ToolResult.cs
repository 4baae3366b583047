using System.Text;

namespace Protocol.Tests.Support;

/// <summary>How a tool ended and what it said.</summary>
internal sealed record ToolResult(string Name, int ExitCode, byte[] Output, string Error)
{
    internal string Text => Encoding.Latin1.GetString(Output);

    internal ToolResult Succeeded()
    {
        Assert.True(ExitCode == 0, $"{Name} ended with {ExitCode}.\n{Error}\n{(Output.Length < 10_000 ? Text : "")}");
        return this;
    }
}
