using System.IO.Pipelines;
using IoUringCache.Transport.Tests.Support;

namespace IoUringCache.Transport.Tests.Listening;

/// <summary>A loop serves many hosts and connections, and carries nothing of any of them along.</summary>
public sealed class LoopContextTests
{
    private static readonly AsyncLocal<string?> s_ambient = new();

    public static TheoryData<TransportKind> All => Transports.All;

    [Theory]
    [MemberData(nameof(All))]
    public async Task AmbientValue_OfWhoeverBinds_IsNotSeenByContinuations(TransportKind kind)
    {
        s_ambient.Value = "the binder's";
        await using TransportServer server = await TransportServer.StartAsync(kind);
        s_ambient.Value = null;
        await using ConnectionPair pair = await server.ConnectAsync();

        Task<string?> seen = AmbientOnCompletionAsync(pair.Input.ReadAsync());
        await pair.Client.SendAllAsync("abc"u8.ToArray());
        Assert.Null(await seen.InTime());
    }

    /// <summary>An awaiter's bare continuation runs in the context of the thread that completes the read.</summary>
    private static Task<string?> AmbientOnCompletionAsync(ValueTask<ReadResult> read)
    {
        TaskCompletionSource<string?> seen = new(TaskCreationOptions.RunContinuationsAsynchronously);
        read.GetAwaiter().UnsafeOnCompleted(() => seen.SetResult(s_ambient.Value));
        return seen.Task;
    }
}
