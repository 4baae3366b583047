using System.Diagnostics;
using System.Net.Sockets;
using CachingService.Tests.Infrastructure;
using IoUringCache.Ring;

namespace CachingService.Tests.Listening;

/// <summary>As <see cref="HandOverTests"/>, for Unix sockets, whose paths do not go with their descriptors.</summary>
public sealed class UnixHandOverTests : HandOverScene
{
    /// <summary>Their paths stay as long as any process listens there, and go with the last.</summary>
    [Theory]
    [InlineData("IoUring", "Sockets")]
    [InlineData("Sockets", "IoUring")]
    public async Task UnixSockets_AreTakenOver_AndTheirPathsStay(string firstTransport, string nextTransport)
    {
        (string url, string adminUrl, string given) = ($"http://unix:{Folder}/public", $"http://unix:{Folder}/admin", $"http://unix:{Folder}/given");
        using Process first = Start($"{url};{given}", adminUrl, $"--Transport={firstTransport}");
        await ReadUrlsAsync(first);
        await using RawClient kept = await RawClient.StartAsync(url, "/health");
        await kept.ReadAsync();
        await AssertServesAsync(given);

        using (Process killed = Start(url, adminUrl))
        {
            await ServiceProcess.ReadAfterAsync(first, " starts in the place of this one, with 3 listening sockets");
            killed.Kill();
            await ServiceProcess.ReadAfterAsync(first, " has not taken over");
        }

        await AssertServesAsync(given);
        using Process next = Start(url, adminUrl, $"--Transport={nextTransport}");
        await ServiceProcess.ReadLinesAsync(next, "are given up", "Took over 2 listening sockets", Serving);
        await AssertServesAsync(url);
        await kept.SendAsync("/health");
        Assert.Equal("close", (await kept.ReadAsync()).Head["Connection"]);
        await ServiceProcess.ReadToExitAsync(first);
        Assert.Equal(0, first.ExitCode);

        await AssertServesAsync(url);
        await AssertServesAsync(adminUrl);
        Assert.False(File.Exists($"{Folder}/given"));
        await ServiceProcess.StopAsync(next);
        Assert.Equal(0, next.ExitCode);
        Assert.Empty(Directory.EnumerateFileSystemEntries(Folder));
    }

    [Fact]
    public async Task FirstProcess_StoppedWhileTheNextStarts_LeavesItThePath()
    {
        string url = $"http://unix:{Folder}/public";
        using Process first = Start(url, "");
        await ReadUrlsAsync(first);
        using Socket second = Connect();
        Assert.Equal(1, DescriptorMessage.Receive(second.SafeHandle, new byte[1], out int[] descriptors));
        using Socket listening = new(new SafeSocketHandle(Assert.Single(descriptors), ownsHandle: true));

        await ServiceProcess.StopAsync(first);

        await using RawClient client = await RawClient.ConnectAsync(url);
        using Socket accepted = await listening.AcceptAsync(TestContext.Current.CancellationToken).AsTask().WaitAsync(Patience.Limit, TestContext.Current.CancellationToken);
    }
}
