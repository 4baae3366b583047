using System.Net.Sockets;
using System.Text;
using IoUringCache.Ring.Files;
using IoUringCache.Ring.Tests.Support;
using Microsoft.Win32.SafeHandles;

namespace IoUringCache.Ring.Tests;

/// <summary>The examples of the public documentation, line by line; a test of the repository compares them.</summary>
public sealed class ExampleTests : RingTest
{
    [Fact]
    public void Example_OfARing_CompletesANop()
    {
        using KernelRing ring = KernelRing.Create(new RingOptions());
        ring.Submissions.PrepareNop(new UserData(kind: 1, generation: 0, slot: 7));
        ring.SubmitAndWait(minimumCompletions: 1);
        Span<Completion> completions = new Completion[64];
        int count = ring.Completions.Drain(completions);

        Assert.Equal((1, 7), (count, completions[0].UserData.Slot));
    }

    [Fact]
    public void Example_OfTheCompletionQueue_DealsResultsOut()
    {
        RequireInjectedResults();
        using KernelRing ring = CreateRing();
        int[] results = new int[3];
        ring.Submissions.PrepareNopWithResult(5, Tag(0));
        ring.Submissions.PrepareNopWithResult(-105, Tag(2));
        ring.SubmitAndWait(minimumCompletions: 2);

        Completion[] completions = new Completion[64];
        int count = ring.Completions.Drain(completions);
        foreach (Completion completion in completions.AsSpan(0, count))
        {
            results[completion.UserData.Slot] = completion.Result;
        }

        Assert.Equal([5, 0, -105], results);
    }

    [Theory]
    [InlineData(12, "12 bytes", false)]
    [InlineData(-105, "ENOBUFS", true)]
    public void Example_OfACompletion_SaysHowItWent(int result, string expected, bool isExpectedOutOfBuffers)
    {
        RequireInjectedResults();
        using KernelRing ring = CreateRing();
        ring.Submissions.PrepareNopWithResult(result, Tag(0));
        Completion completion = ReapOne(ring);

        string outcome = completion.IsError ? completion.Error.ToString() : $"{completion.Result} bytes";
        bool isOutOfBuffers = completion.Error == Errno.ENOBUFS;

        Assert.Equal((expected, isExpectedOutOfBuffers), (outcome, isOutOfBuffers));
    }

    [Fact]
    public void Example_OfAnEvent_WakesTheOwner()
    {
        using KernelRing ring = CreateRing();
        using EventDescriptor wakeUp = EventDescriptor.Create();
        ring.Submissions.PrepareReadEvent(wakeUp, new UserData(kind: 2, generation: 0, slot: 0));
        ThreadPool.QueueUserWorkItem(_ => wakeUp.Signal());
        ring.SubmitAndWait(minimumCompletions: 1);

        Assert.Equal(2, ReapOne(ring).UserData.Kind);
    }

    [Fact]
    public void Example_OfTheProbe_SaysWhetherAndWhyNot()
    {
        string backEnd = IoUring.IsSupported ? "io_uring" : $"sockets, because: {IoUring.UnavailableReason}";

        Assert.Equal("io_uring", backEnd);
    }

    [Fact]
    public void Example_OfAnError_TellsWhichOneItWas()
    {
        int socket = -1;
        bool wasOpen = true;

        try
        {
            SocketDescriptor.Close(socket);
        }
        catch (IoUringException failure) when (failure.Error == Errno.EBADF)
        {
            wasOpen = false;
        }

        Assert.False(wasOpen);
    }

    [Fact]
    public void Example_OfAnUnavailableRing_HasAReasonWhenThereIsOne()
    {
        string? reason = null;

        try
        {
            using KernelRing ring = KernelRing.Create(new RingOptions());
        }
        catch (IoUringUnavailableException unavailable)
        {
            reason = unavailable.Message;
        }

        Assert.Null(reason);
    }

    [Fact]
    public void Example_OfAReceive_AcquiresAndReleasesTheBuffer()
    {
        using KernelRing ring = CreateRing();
        using SocketPair pair = new();
        ProvidedBufferRing buffers = ring.RegisterBuffers(group: 1, count: 2, size: 64);
        ring.Submissions.PrepareReceiveMultishot(pair.Descriptor, buffers.Group, Tag(0));
        pair.Far.Send("hello"u8);
        Completion completion = ReapOne(ring);

        Memory<byte> buffer = buffers.Acquire(completion.BufferId);
        string text = Encoding.ASCII.GetString(buffer.Span[..completion.Result]);
        buffers.Release(completion.BufferId);

        Assert.Equal(("hello", 2), (text, buffers.AvailableCount));
        pair.Far.Shutdown(SocketShutdown.Send);
        Assert.False(ReapOne(ring).HasMore);
    }

    [Fact]
    public async Task Example_OfASend_ReachesThePeer()
    {
        using SocketPair pair = new();
        Task<byte[]> received = pair.ReadFarAsync(5);
        Send(pair.Descriptor);

        byte[] actual = await received.WaitAsync(Patience, TestContext.Current.CancellationToken);
        Assert.Equal("hello"u8, actual);

        static void Send(int socket)
        {
            using KernelRing ring = CreateRing();
            byte[] pinned = GC.AllocateArray<byte>(5, pinned: true);
            "hello"u8.CopyTo(pinned);
            ring.Submissions.PrepareSend(socket, pinned, new UserData(kind: 4, generation: 0, slot: 0));
            ring.SubmitAndWait(minimumCompletions: 1);
            Assert.Equal(5, ReapOne(ring).Result);
        }
    }

    [Fact]
    public async Task Example_OfFileMemory_IsSentAsAFile()
    {
        using SocketPair pair = new();
        Task<byte[]> received = pair.ReadFarAsync(5);
        Assert.Equal(5, Send(pair.Descriptor, "hello"u8.ToArray()));

        byte[] actual = await received.WaitAsync(Patience, TestContext.Current.CancellationToken);
        Assert.Equal("hello"u8, actual);

        static int Send(int socket, byte[] logo)
        {
            FileMemory page = FileMemory.Create("logo", logo.Length);
            logo.CopyTo(page.Memory);
            int sent = SocketDescriptor.SendFile(socket, page.File, offset: 0, logo.Length);

            return sent;
        }
    }

    [Fact]
    public async Task Example_OfAKernelPipe_TakesBytesFromSocketToSocket()
    {
        using SocketPair from = new();
        using SocketPair to = new();
        await from.Far.SendAsync("hello"u8.ToArray(), TestContext.Current.CancellationToken);
        Assert.True(from.Near.Poll(Patience, SelectMode.SelectRead));
        (int origin, int client) = (from.Descriptor, to.Descriptor);

        using KernelPipe pipe = KernelPipe.Create(256 * 1024);
        int received = pipe.Receive(origin, 256 * 1024);
        int sent = received > 0 ? pipe.Send(client, received) : received;

        Assert.Equal(5, sent);
        Assert.Equal("hello"u8.ToArray(), await to.ReadFarAsync(5).WaitAsync(Patience, TestContext.Current.CancellationToken));
    }

    [Fact]
    public async Task Example_OfThePageCache_ReadsWhatIsNotThere()
    {
        using FileMemory memory = FileMemory.Create("test", 5);
        SafeFileHandle file = memory.File;
        (long offset, long length) = (0, 5);
        CancellationToken cancellationToken = TestContext.Current.CancellationToken;
        byte[] buffer = [1, 2, 3, 4, 5];

        if (!PageCache.Contains(file, offset, length))
        {
            await RandomAccess.ReadAsync(file, buffer, offset, cancellationToken);
        }

        Assert.Equal(new byte[5], buffer);
    }

    [Fact]
    public void Example_OfADescriptor_NamesThePeerAndResets()
    {
        using KernelRing ring = CreateRing();
        using Socket listener = SocketPair.Listen();
        ring.Submissions.PrepareAcceptMultishot((int)listener.Handle, Tag(0));
        using Socket client = SocketPair.Connect(listener);
        int socket = ReapOne(ring).Result;

        byte[] address = new byte[128];
        int length = SocketDescriptor.GetPeerName(socket, address);
        SocketDescriptor.CloseWithReset(socket);

        Assert.Equal(16, length);
        SocketException exception = Assert.Throws<SocketException>(() => client.Receive(new byte[1]));
        Assert.Equal(SocketError.ConnectionReset, exception.SocketErrorCode);
        ring.Submissions.PrepareCancel(Tag(0), Tag(1));
        Reap(ring, 2);
    }

    [Fact]
    public void Example_OfOptionsAndOutcome_TimesOut()
    {
        RingOptions options = new() { SubmissionEntries = 64, CompletionEntries = 1024 };
        using KernelRing ring = KernelRing.Create(options);
        SubmitOutcome outcome = ring.SubmitAndWait(minimumCompletions: 1, TimeSpan.FromMilliseconds(1));
        bool isIdle = outcome == SubmitOutcome.TimedOut;

        Assert.True(isIdle);
    }

    [Fact]
    public void Example_OfUserData_ComesBackTheSame()
    {
        using KernelRing ring = CreateRing();

        UserData userData = new(kind: 1, generation: 3, slot: 7);
        ring.Submissions.PrepareNop(userData);

        Assert.Equal(userData, ReapOne(ring).UserData);
    }
}
