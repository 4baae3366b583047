using IoUringCache.Ring;

namespace IoUringCache.Transport.Tests.Support;

/// <summary>Skips a test where io_uring is unavailable, with the reason; fails it instead where <c>IOURING_REQUIRED=1</c>.</summary>
internal static class IoUringRequirement
{
    internal static void Check()
    {
        if (IoUring.IsSupported)
        {
            return;
        }

        if (Environment.GetEnvironmentVariable("IOURING_REQUIRED") == "1")
        {
            Assert.Fail($"IOURING_REQUIRED=1, but: {IoUring.UnavailableReason}");
        }

        Assert.Skip(IoUring.UnavailableReason ?? "io_uring is unavailable.");
    }
}
