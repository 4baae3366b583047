using System.Diagnostics;
using IoUringCache.Transport.Tests.Support;

namespace Protocol.Tests.Support;

/// <summary>Runs a client of somebody else. Any thread; the process never outlives the call.</summary>
internal static class Tool
{
    internal static Task<ToolResult> RunAsync(string name, params string[] arguments) => RunAsync(name, [], arguments);

    /// <summary>The tool reads <paramref name="input"/> from its standard input, then its end.</summary>
    internal static async Task<ToolResult> RunAsync(string name, byte[] input, params string[] arguments)
    {
        using Process process = Start(name, arguments);
        try
        {
            using MemoryStream output = new();
            Task copying = process.StandardOutput.BaseStream.CopyToAsync(output);
            Task<string> error = process.StandardError.ReadToEndAsync();
            Task feeding = FeedAsync(process, input);
            await Task.WhenAll(copying, error, feeding, process.WaitForExitAsync()).InTime();
            return new ToolResult(name, process.ExitCode, output.ToArray(), await error);
        }
        finally
        {
            process.Kill();
        }
    }

    private static Process Start(string name, string[] arguments)
    {
        Require(name);
        ProcessStartInfo start = new(name, arguments)
        {
            RedirectStandardInput = true,
            RedirectStandardOutput = true,
            RedirectStandardError = true,
        };
        return Process.Start(start)!;
    }

    /// <summary>A missing tool is a skip with the reason, or a failure where nothing may be skipped.</summary>
    private static void Require(string name)
    {
        string[] folders = (Environment.GetEnvironmentVariable("PATH") ?? "").Split(Path.PathSeparator);
        if (folders.Any(folder => File.Exists(Path.Combine(folder, name))))
        {
            return;
        }

        string reason = $"{name} is missing; scripts/require-tools.sh {name} installs it.";
        if (Environment.GetEnvironmentVariable("IOURING_REQUIRED") == "1")
        {
            Assert.Fail(reason);
        }

        Assert.Skip(reason);
    }

    private static async Task FeedAsync(Process process, byte[] input)
    {
        try
        {
            await process.StandardInput.BaseStream.WriteAsync(input);
            process.StandardInput.Close();
        }
        catch (IOException)
        {
            // The tool ended without reading everything; its exit code tells more than the broken pipe.
        }
    }
}
