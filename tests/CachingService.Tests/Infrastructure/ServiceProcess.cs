using System.Diagnostics;

namespace CachingService.Tests.Infrastructure;

/// <summary>The program as a process of its own, and what an operator and a shell see of it.</summary>
internal static class ServiceProcess
{
    public static Process Start(params string[] options) => Start(options, environment: []);

    /// <summary>Starts it.</summary>
    /// <param name="options">Its command line.</param>
    /// <param name="environment">Variables that it has besides those of the tests.</param>
    /// <param name="folder">Where it lies; where the tests lie by default.</param>
    /// <param name="wrapper">A command that runs the command after it.</param>
    public static Process Start(
        string[] options, (string Name, string Value)[]? environment = null, string? folder = null, string[]? wrapper = null)
    {
        string dotnet = Environment.ProcessPath is { } path && Path.GetFileName(path) == "dotnet" ? path : "dotnet";
        string[] command = [.. wrapper ?? [], dotnet, Path.Combine(folder ?? AppContext.BaseDirectory, "CachingService.dll"), .. options];
        ProcessStartInfo start = new(command[0], command[1..])
        {
            RedirectStandardOutput = true,
            RedirectStandardError = true,
        };

        foreach ((string name, string value) in environment ?? [])
        {
            start.Environment[name] = value;
        }

        return Process.Start(start)!;
    }

    /// <summary>The address in the line that tells of the start.</summary>
    public static async Task<string> ReadUrlAsync(Process program) => (await ReadAfterAsync(program, "Serving ")).Split(';')[0];

    /// <summary>The rest of the next line with a mark.</summary>
    public static async Task<string> ReadAfterAsync(Process program, string mark) =>
        (await ReadLineAsync(program, mark)).Split(mark, 2)[1];

    /// <summary>The next line with a mark.</summary>
    public static async Task<string> ReadLineAsync(Process program, string mark)
    {
        while (true)
        {
            string? line = await program.StandardOutput.ReadLineAsync(TestContext.Current.CancellationToken).AsTask()
                .WaitAsync(Patience.Limit, TestContext.Current.CancellationToken);
            Assert.NotNull(line);
            if (line.Contains(mark, StringComparison.Ordinal))
            {
                return line;
            }
        }
    }

    /// <summary>
    /// The next lines with some marks, in the order of the marks and not of the lines: each application of the program has a queue of its own for
    /// the console.
    /// </summary>
    public static async Task<string[]> ReadLinesAsync(Process program, params string[] marks)
    {
        string?[] lines = new string?[marks.Length];
        while (Array.IndexOf(lines, null) >= 0)
        {
            string line = await ReadLineAsync(program, "");
            int index = Enumerable.Range(0, marks.Length).FirstOrDefault(each => lines[each] is null && line.Contains(marks[each], StringComparison.Ordinal), -1);
            if (index >= 0)
            {
                lines[index] = line;
            }
        }

        return lines!;
    }

    public static async Task StopAsync(Process program)
    {
        await SignalAsync(program, "TERM");
        await ReadToExitAsync(program);
    }

    public static async Task SignalAsync(Process program, string signal)
    {
        using Process kill = Process.Start("kill", [$"-{signal}", $"{program.Id}"]);
        await kill.WaitForExitAsync(TestContext.Current.CancellationToken).WaitAsync(Patience.Limit, TestContext.Current.CancellationToken);
    }

    public static async Task<(string Output, string Errors)> ReadToExitAsync(Process program)
    {
        try
        {
            CancellationToken stop = TestContext.Current.CancellationToken;
            (Task<string> output, Task<string> errors) = (program.StandardOutput.ReadToEndAsync(stop), program.StandardError.ReadToEndAsync(stop));
            await program.WaitForExitAsync(stop).WaitAsync(Patience.Limit, stop);
            return (await output, await errors);
        }
        catch (TimeoutException)
        {
            program.Kill();
            throw;
        }
    }
}
