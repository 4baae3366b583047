using System.Globalization;
using CachingService.Tests.Infrastructure;
using CachingService.Tests.Serving;

namespace CachingService.Tests.Files;

/// <summary>Files that change while they are sent, and files that no memory holds.</summary>
public sealed class FileChangeTests : IDisposable
{
    /// <summary>More than the buffers between service and client take, so that the service is still sending.</summary>
    private const int Length = 64 * 1024 * 1024;

    private readonly ServedFolder _folder = new();
    private readonly TestCertificate _certificate = new();

    /// <summary>Transport and version.</summary>
    public static TheoryData<string, string> Each => FileVersionTests.Each;

    [Theory]
    [MemberData(nameof(Each))]
    public async Task File_ThatBecomesShorter_CutsVisibly(string transport, string version)
    {
        string path = _folder.Fill("a", 'a', Length);
        await using TestService service = await StartAsync(transport, version);
        await using VersionedClient client = await VersionedClient.ConnectAsync(service.Url, version);
        VersionedAnswer answer = await client.SendAsync("/object/a");
        Assert.Equal((200, Length.ToString(CultureInfo.InvariantCulture)), (answer.Status, answer["Content-Length"]));

        using (FileStream file = File.OpenWrite(path))
        {
            file.SetLength(1000);
        }

        if (client.IsHttp2)
        {
            Assert.False((await answer.ReadAsync()).IsWhole);
            await client.IsUsableAsync();
        }
        else
        {
            Assert.True((await client.Raw.ReadToCloseAsync()).Length < Length);
        }

        await Eventually.TrueAsync(() => service.Host.Metrics.ActiveReaders == 0, "no active reader");
        Assert.Empty(service.Log.Errors);

        // What the kernel was lent it may find too short itself, and then nobody else hears of it.
        bool mayBeSilent = transport != "Sockets" && version is "1.0" or "1.1";
        Assert.InRange(service.Log.Warnings.Count, mayBeSilent ? 0 : 1, 1);
        Assert.Equal(service.Log.Warnings.Count == 0 ? "" : $"file={service.Log.Warnings.Count}", service.ReasonsOf("cache_readers_cut_total"));
    }

    [Theory]
    [MemberData(nameof(Each))]
    public async Task File_ThatGrows_IsSentAsLongAsWasPromised(string transport, string version)
    {
        const int Begun = 8 * 1024 * 1024;
        string path = _folder.Fill("a", 'a', Begun);
        await using TestService service = await StartAsync(transport, version);
        await using VersionedClient client = await VersionedClient.ConnectAsync(service.Url, version);
        VersionedAnswer answer = await client.SendAsync("/object/a");

        await File.AppendAllTextAsync(path, new string('b', Begun), TestContext.Current.CancellationToken);

        Assert.Equal((Begun, true), await ReadAllOfAsync(client, answer, 'a'));
        await client.IsUsableAsync();
        await service.IsAtRestAsync();
    }

    [Theory]
    [MemberData(nameof(Each))]
    public async Task File_ReplacedByRename_IsTheOldOneForWhoHasBegun(string transport, string version)
    {
        const int Old = 8 * 1024 * 1024;
        string path = _folder.Fill("a", 'a', Old);
        await using TestService service = await StartAsync(transport, version);
        await using VersionedClient client = await VersionedClient.ConnectAsync(service.Url, version);
        VersionedAnswer answer = await client.SendAsync("/object/a");

        File.Move(_folder.Fill("b", 'b', 1000), path, overwrite: true);

        Assert.Equal((Old, true), await ReadAllOfAsync(client, answer, 'a'));
        Assert.Equal((1000, true), await ReadAllOfAsync(client, await client.SendAsync("/object/a"), 'b'));
        await service.IsAtRestAsync();
    }

    [Fact]
    public async Task File_Removed_IsSentToWhoHasBegun()
    {
        string path = _folder.Fill("a", 'a', Length);
        await using TestService service = await TestService.StartAsync(_folder.Url);
        await using RawClient client = await service.GetAsync("/object/a");
        RawResponse head = await client.ReadHeadAsync();

        File.Delete(path);

        Assert.Equal(Length, (await client.ReadBodyAsync(head)).Length);
        Assert.Equal(404, (await service.FetchAsync("/object/a")).Head.Status);
    }

    [Theory]
    [MemberData(nameof(Each))]
    public async Task File_LargerThanMemory_IsServedByRange(string transport, string version)
    {
        const long Size = 200L << 30;
        const long Mark = (70L << 30) + 4097;
        string path = _folder.Make("sparse", "");
        using (FileStream file = File.OpenWrite(path))
        {
            file.SetLength(Size);
            file.Position = Mark;
            file.Write("mark"u8);
        }

        await using TestService service = await StartAsync(transport, version);
        await using VersionedClient client = await VersionedClient.ConnectAsync(service.Url, version);
        VersionedAnswer head = await client.SendAsync("/object/sparse", "HEAD");
        await head.ReadAsync();
        VersionedAnswer middle = await client.SendAsync("/object/sparse", fields: $"Range: bytes={Mark - 1}-{Mark + 4}\r\n");
        Assert.Equal(("\0mark\0", true), await middle.ReadAsync());
        VersionedAnswer end = await client.SendAsync("/object/sparse", fields: "Range: bytes=-100000\r\n");

        Assert.Equal((200, Size.ToString(CultureInfo.InvariantCulture)), (head.Status, head["Content-Length"]));
        Assert.Equal(
            (206, string.Create(CultureInfo.InvariantCulture, $"bytes {Mark - 1}-{Mark + 4}/{Size}")), (middle.Status, middle["Content-Range"]));
        Assert.Equal((100_000, true), await ReadAllOfAsync(client, end, '\0'));
        await service.IsAtRestAsync();
    }

    [Fact]
    public async Task Client_SlowerThanTheRateOfItsRoute_IsCut()
    {
        _folder.Fill("a", 'a', Length);
        _folder.Fill("b", 'b', Length);
        await using TestService service = await TestService.StartAsync(
            _folder.Url, "--Cache:MinReaderRate=0", "--Cache:Routes:0:Prefix=a", "--Cache:Routes:0:MinReaderRate=1GiB");
        await using RawClient slow = await StopAsync("/object/a");
        await using RawClient other = await StopAsync("/object/b");

        await SharingTests.WaitForClientsAsync(service, waiting: 1);

        service.Time.Advance(TimeSpan.FromSeconds(4));
        Assert.Equal(0, service.Host.Metrics.CutReaders);
        service.Time.Advance(TimeSpan.FromSeconds(2));

        await Eventually.TrueAsync(() => service.Host.Metrics.ActiveReaders == 1, "the slow one has left");
        Assert.Equal("rate=1", service.ReasonsOf("cache_readers_cut_total"));

        Assert.True((await slow.ReadToCloseAsync()).Length < Length);
        Assert.Equal(Length, (await other.ReadExactlyAsync(Length)).Length);
        await service.IsAtRestAsync();

        async Task<RawClient> StopAsync(string target)
        {
            RawClient client = await RawClient.ConnectAsync(service.Url, receiveBuffer: 65536);
            await client.SendAsync(target);
            Assert.Equal(200, (await client.ReadHeadAsync()).Status);
            return client;
        }
    }

    [Fact]
    public async Task Client_ThatLeaves_EndsTheSending()
    {
        _folder.Fill("a", 'a', Length);
        await using TestService service = await TestService.StartAsync(_folder.Url);
        await using (RawClient client = await service.GetAsync("/object/a"))
        {
            await client.ReadHeadAsync();
            client.Vanish();
        }

        await service.IsAtRestAsync();
        Assert.True(service.Host.Metrics.SentBytes < Length);
    }

    public void Dispose()
    {
        _folder.Dispose();
        _certificate.Dispose();
    }

    /// <summary>How much came, all of one letter, and whether it has its end.</summary>
    private static async Task<(int Length, bool IsWhole)> ReadAllOfAsync(VersionedClient client, VersionedAnswer answer, char letter)
    {
        (string body, bool isWhole) = answer.Raw is { } head ? (await client.Raw.ReadBodyAsync(head), true) : await answer.ReadAsync();
        Assert.Equal(-1, body.AsSpan().IndexOfAnyExcept(letter));
        return (body.Length, isWhole);
    }

    private Task<TestService> StartAsync(string transport, string version) =>
        TestService.StartAsync(_folder.Url, [$"--Transport={transport}", .. VersionedClient.OptionsFor(version, _certificate)]);
}
