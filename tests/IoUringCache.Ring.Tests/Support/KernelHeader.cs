using System.ComponentModel;
using System.Diagnostics;

namespace IoUringCache.Ring.Tests.Support;

/// <summary>Reads the kernel headers of the machine through its C compiler.</summary>
internal static class KernelHeader
{
    private const string Includes = """
        #define _GNU_SOURCE
        #include <stddef.h>
        #include <stdio.h>
        #include <errno.h>
        #include <fcntl.h>
        #include <linux/io_uring.h>
        #include <linux/mman.h>
        #include <linux/openat2.h>
        #include <linux/stat.h>
        #include <linux/time_types.h>
        #include <netinet/in.h>
        #include <netinet/tcp.h>
        #include <poll.h>
        #include <sys/eventfd.h>
        #include <sys/mman.h>
        #include <sys/socket.h>
        #include <sys/syscall.h>
        #include <sys/uio.h>

        """;

    /// <summary>The value of a C expression, printed as <c>%llu</c>, or null if the header does not have it.</summary>
    internal static string?[] Evaluate(IReadOnlyList<string> expressions)
    {
        string folder = Directory.CreateTempSubdirectory("iouring-layout-").FullName;
        try
        {
            HashSet<int> unknown = [];
            string binary = Path.Combine(folder, "layout");
            string source = Path.Combine(folder, "layout.c");

            // An older header may lack an expression: the compiler names its line, which is then removed.
            for (int attempt = 0; attempt <= expressions.Count; attempt++)
            {
                File.WriteAllText(source, Program(expressions, unknown));
                (int exitCode, string errors) = Run("cc", "-w", "-o", binary, source);
                if (exitCode == 0)
                {
                    return Parse(Run(binary).Output, expressions.Count);
                }

                int[] lines = [.. ErrorLines(errors)];
                if (lines.Length == 0)
                {
                    Assert.Skip($"The kernel headers do not compile here: {errors}");
                }

                unknown.UnionWith(lines);
            }

            throw new InvalidOperationException("The compiler refuses expressions without end.");
        }
        finally
        {
            Directory.Delete(folder, recursive: true);
        }
    }

    private static string Program(IReadOnlyList<string> expressions, HashSet<int> unknown) =>
        Includes + "int main(void) {\n"
        + string.Concat(expressions.Select((expression, index) => unknown.Contains(index)
            ? "\n"
            : $"#line {index + 1} \"expression\"\nprintf(\"{index} %llu\\n\", (unsigned long long)({expression}));\n"))
        + "return 0; }\n";

    private static IEnumerable<int> ErrorLines(string errors) => errors.Split('\n')
        .Where(line => line.StartsWith("expression:", StringComparison.Ordinal) && line.Contains("error", StringComparison.Ordinal))
        .Select(line => int.Parse(line.Split(':')[1]) - 1);

    private static string?[] Parse(string output, int count)
    {
        string?[] values = new string?[count];
        foreach (string[] parts in output.Split('\n', StringSplitOptions.RemoveEmptyEntries).Select(line => line.Split(' ')))
        {
            values[int.Parse(parts[0])] = parts[1];
        }

        return values;
    }

    private static (int ExitCode, string Output) Run(string program, params string[] arguments)
    {
        try
        {
            ProcessStartInfo start = new(program, arguments) { RedirectStandardOutput = true, RedirectStandardError = true };
            using Process process = Process.Start(start)!;
            Task<string> errors = process.StandardError.ReadToEndAsync();
            string output = process.StandardOutput.ReadToEnd();
            Assert.True(process.WaitForExit(TimeSpan.FromSeconds(60)), $"{program} did not end.");
            return (process.ExitCode, output + errors.GetAwaiter().GetResult());
        }
        catch (Win32Exception failure)
        {
            Assert.Skip($"No C compiler: {failure.Message}");
            throw;
        }
    }
}
