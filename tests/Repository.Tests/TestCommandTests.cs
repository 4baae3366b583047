using System.Diagnostics;

namespace Repository.Tests;

/// <summary>
/// The end of the test command: it names what failed, and a green run cannot be an empty run, nor one without io_uring where that is required.
/// </summary>
public sealed class TestCommandTests : IDisposable
{
    private readonly DirectoryInfo _folder = Directory.CreateTempSubdirectory("count-results-");

    [Theory]
    [InlineData(2, 0, "", false, 0, "2 passed, 0 failed, 0 skipped")]
    [InlineData(2, 1, "", false, 1, "2 passed, 1 failed, 0 skipped")]
    [InlineData(0, 0, "", false, 1, "0 passed, 0 failed, 0 skipped")]
    [InlineData(0, 0, "needs a C compiler", false, 1, "0 passed, 0 failed, 1 skipped")]
    [InlineData(2, 0, "needs a C compiler", true, 0, "2 passed, 0 failed, 1 skipped")]
    [InlineData(2, 0, "io_uring is not available: seccomp", false, 0, "2 passed, 0 failed, 1 skipped")]
    [InlineData(2, 0, "io_uring is not available: seccomp", true, 1, "2 passed, 0 failed, 1 skipped")]
    public async Task CountResults_OneFile_CountsAndDecides(
        int passed, int failed, string skipReason, bool isIoUringRequired, int expectedExitCode, string expectedLastLine)
    {
        await WriteResultsAsync("A.Tests", passed, failed, skipReason);

        (int exitCode, string lastLine) = await CountAsync(isIoUringRequired, "A.Tests");

        Assert.Equal(expectedExitCode, exitCode);
        Assert.Equal(expectedLastLine, lastLine);
    }

    [Fact]
    public async Task CountResults_SeveralFiles_AreAddedUp()
    {
        await WriteResultsAsync("A.Tests", passed: 3, failed: 0, skipReason: "");
        await WriteResultsAsync("B.Tests", passed: 4, failed: 2, skipReason: "other");

        Assert.Equal((1, "7 passed, 2 failed, 1 skipped"), await CountAsync(isIoUringRequired: true, "A.Tests", "B.Tests"));
    }

    [Fact]
    public async Task CountResults_MissingFile_Fails()
    {
        await WriteResultsAsync("A.Tests", passed: 3, failed: 0, skipReason: "");

        Assert.Equal((1, "3 passed, 0 failed, 0 skipped"), await CountAsync(isIoUringRequired: false, "A.Tests", "DoesNotBuild.Tests"));
    }

    /// <summary>The end of a log is often all that is left of it.</summary>
    [Fact]
    public async Task CountResults_FailedTests_AreNamedWithTheirMessagesBeforeTheCounts()
    {
        const string Results =
            """
            <TestRun>
              <Results>
                <UnitTestResult testName="A.Tests.Good" outcome="Passed" />
                <UnitTestResult testId="1" testName="A.Tests.Bad(name: &quot;a &amp; b&quot;)" duration="00:00:01" outcome="Failed" testListId="2">
                  <Output>
                    <StdOut>FUZZ_SEED=1</StdOut>
                    <ErrorInfo>
                      <Message>Assert.Equal() Failure: Values differ
            Expected: &lt;1&gt;

            Actual:   2</Message>
                      <StackTrace>   at Xunit.Assert.Equal()
               at A.Tests.Bad(String name) in /_/tests/A.Tests/Tests.cs:line 41</StackTrace>
                    </ErrorInfo>
                  </Output>
                </UnitTestResult>
              </Results>
              <ResultSummary outcome="Failed">
                <Counters total="2" executed="2" passed="1" failed="1" error="0" notExecuted="0" />
                <RunInfos>
                  <RunInfo computerName="a" outcome="Error">
                    <Text>[xUnit.net 00:00:01.00]     A.Tests.Bad(name: "a &amp; b") [FAIL]</Text>
                  </RunInfo>
                  <RunInfo computerName="a" outcome="Error">
                    <Text>[Test Class Cleanup Failure (A.Tests)]: System.TimeoutException</Text>
                  </RunInfo>
                </RunInfos>
              </ResultSummary>
            </TestRun>
            """;
        await File.WriteAllTextAsync(Path.Combine(_folder.FullName, "A.Tests.trx"), Results, TestContext.Current.CancellationToken);

        (int exitCode, string[] lines) = await RunAsync(isIoUringRequired: true, "A.Tests");

        Assert.Equal(1, exitCode);
        Assert.Equal(
            [
                "FAILED  A.Tests.Bad(name: \"a & b\")",
                "        Assert.Equal() Failure: Values differ",
                "        Expected: <1>",
                "        Actual:   2",
                "        at A.Tests.Bad(String name) in /_/tests/A.Tests/Tests.cs:line 41",
                "FAILED  outside of a test",
                "        [Test Class Cleanup Failure (A.Tests)]: System.TimeoutException",
                "1 passed, 1 failed, 0 skipped",
            ],
            lines);
    }

    public void Dispose() => _folder.Delete(recursive: true);

    /// <summary>The parts of a TRX file that the script reads, as <c>dotnet test</c> writes them.</summary>
    private Task WriteResultsAsync(string name, int passed, int failed, string skipReason)
    {
        int total = passed + failed + (skipReason.Length > 0 ? 1 : 0);
        string skip = skipReason.Length == 0 ? "" :
            $"""
                <UnitTestResult testName="Ring.Tests.A_io_uring_test" outcome="NotExecuted">
                  <Output>
                    <ErrorInfo>
                      <Message>{skipReason}</Message>
                    </ErrorInfo>
                  </Output>
                </UnitTestResult>
            """;
        string text =
            $"""
            <TestRun>
              <Results>
            {skip}
                <UnitTestResult testName="io_uring" outcome="Passed" />
              </Results>
              <ResultSummary outcome="Completed">
                <Counters total="{total}" executed="{passed + failed}" passed="{passed}" failed="{failed}" error="0" notExecuted="0" />
              </ResultSummary>
            </TestRun>
            """;
        return File.WriteAllTextAsync(Path.Combine(_folder.FullName, $"{name}.trx"), text, TestContext.Current.CancellationToken);
    }

    private async Task<(int ExitCode, string LastLine)> CountAsync(bool isIoUringRequired, params string[] names)
    {
        (int exitCode, string[] lines) = await RunAsync(isIoUringRequired, names);
        return (exitCode, lines[^1]);
    }

    private async Task<(int ExitCode, string[] Lines)> RunAsync(bool isIoUringRequired, params string[] names)
    {
        ProcessStartInfo start = new("bash") { RedirectStandardOutput = true };
        start.ArgumentList.Add(Path.Combine(SourceTree.Root, "scripts", "count-results.sh"));
        foreach (string name in names)
        {
            start.ArgumentList.Add(Path.Combine(_folder.FullName, name));
        }

        start.Environment["IOURING_REQUIRED"] = isIoUringRequired ? "1" : "0";
        using Process process = Process.Start(start)!;
        string output = await process.StandardOutput.ReadToEndAsync(TestContext.Current.CancellationToken).WaitAsync(TimeSpan.FromSeconds(30));
        await process.WaitForExitAsync(TestContext.Current.CancellationToken).WaitAsync(TimeSpan.FromSeconds(30));
        return (process.ExitCode, output.TrimEnd().Split('\n'));
    }
}
