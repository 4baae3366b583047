using IoUringCache.Ring.Native;

namespace IoUringCache.Ring;

/// <summary>
/// Tests io_uring by using it: version numbers mislead, because sandboxes, sysctls and backports change what a kernel
/// offers. Any thread; the ring is closed before a call returns.
/// </summary>
internal static class KernelProbe
{
    private const ushort Group = 0;

    private static readonly TimeSpan s_timeout = TimeSpan.FromSeconds(5);

    private static readonly (Opcode Opcode, string Name, string Release)[] s_requiredOperations =
    [
        (Opcode.Nop, "IORING_OP_NOP", "5.1"),
        (Opcode.PollAdd, "IORING_OP_POLL_ADD", "5.1"),
        (Opcode.SendMessage, "IORING_OP_SENDMSG", "5.3"),
        (Opcode.Timeout, "IORING_OP_TIMEOUT", "5.4"),
        (Opcode.Accept, "IORING_OP_ACCEPT", "5.5"),
        (Opcode.AsyncCancel, "IORING_OP_ASYNC_CANCEL", "5.5"),
        (Opcode.Connect, "IORING_OP_CONNECT", "5.5"),
        (Opcode.Read, "IORING_OP_READ", "5.6"),
        (Opcode.Send, "IORING_OP_SEND", "5.6"),
        (Opcode.Receive, "IORING_OP_RECV", "5.6"),
    ];

    internal static KernelCapabilities Run(IKernel kernel)
    {
        try
        {
            using KernelRing ring = KernelRing.Create(kernel, new RingOptions { SubmissionEntries = 8, CompletionEntries = 16 });
            string? obstacle = MissingOperation(ring, kernel) ?? FailedExchange(ring, kernel);
            return new KernelCapabilities(obstacle, ring.Description);
        }
        catch (IoUringUnavailableException unavailable)
        {
            return new KernelCapabilities(unavailable.Message);
        }
        catch (IoUringException failure)
        {
            return new KernelCapabilities($"A ring could be made but not used: {failure.Message}");
        }
    }

    private static string? MissingOperation(KernelRing ring, IKernel kernel)
    {
        int result = ring.Probe(out OpcodeProbe probe);
        if (result < 0)
        {
            return SetupDiagnosis.Explain("io_uring_register of a probe", (Errno)(-result), kernel);
        }

        foreach ((Opcode opcode, string name, string release) in s_requiredOperations)
        {
            if (!probe.Supports(opcode))
            {
                return SetupDiagnosis.TooOld(kernel, $"it does not offer {name}", release);
            }
        }

        return null;
    }

    /// <summary>
    /// Receives one byte by a multishot receive into a buffer ring: the newest feature that the transport needs, and
    /// one that the opcode probe does not show.
    /// </summary>
    private static string? FailedExchange(KernelRing ring, IKernel kernel)
    {
        UserData receive = new(kind: 1, generation: 0, slot: 0);
        UserData send = new(kind: 2, generation: 0, slot: 0);
        byte[] payload = GC.AllocateArray<byte>(1, pinned: true);
        ring.RegisterBuffers(Group, count: 1, size: 16);

        (int near, int far) = SocketDescriptor.CreatePair();
        Completion? first = null;
        try
        {
            ring.Submissions.PrepareReceiveMultishot(near, Group, receive);
            ring.Submissions.PrepareSend(far, payload, send);
            first = CompletionOf(ring, receive);
        }
        finally
        {
            // The end of the stream ends an armed receive, so that nothing is in flight when the ring is disposed.
            SocketDescriptor.Close(far);
            if (first is { HasMore: true })
            {
                CompletionOf(ring, receive);
            }

            SocketDescriptor.Close(near);
        }

        return first switch
        {
            { Result: 1, HasBuffer: true, HasMore: true } => null,
            { Error: Errno.EINVAL } => SetupDiagnosis.TooOld(kernel, "it has no multishot receive (EINVAL)", SetupDiagnosis.MinimumRelease),
            { } other => $"A multishot receive on this kernel's io_uring gave {other.Result} instead of one byte in a provided buffer.",
            null => $"This kernel's io_uring took a receive and did not complete it within {s_timeout.TotalSeconds} seconds.",
        };
    }

    /// <summary>Waits for the next completion with the given user data; null after the time-out.</summary>
    private static Completion? CompletionOf(KernelRing ring, UserData userData)
    {
        Span<Completion> completions = new Completion[1];
        for (long deadline = Environment.TickCount64 + (long)s_timeout.TotalMilliseconds; Environment.TickCount64 < deadline;)
        {
            ring.SubmitAndWait(minimumCompletions: 1, s_timeout);
            while (ring.Completions.Drain(completions) == 1)
            {
                if (completions[0].UserData == userData)
                {
                    return completions[0];
                }
            }
        }

        return null;
    }
}

/// <summary>The result of the probe of io_uring in this process. Immutable; any thread.</summary>
/// <param name="UnavailableReason">Why io_uring does not work, and what to change; null if it works.</param>
/// <param name="Description">The accepted flags, as <see cref="KernelRing.Description"/>; empty without a ring.</param>
internal sealed record KernelCapabilities(string? UnavailableReason, string Description = "")
{
    internal bool IsSupported => UnavailableReason is null;
}
