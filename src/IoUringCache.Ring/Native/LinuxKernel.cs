using System.Runtime.CompilerServices;

namespace IoUringCache.Ring.Native;

/// <summary>The kernel that this process runs on. Any thread.</summary>
internal sealed class LinuxKernel : IKernel
{
    // The numbers are the same on every architecture that .NET runs on.
    private const int SetupNumber = 425;
    private const int EnterNumber = 426;
    private const int RegisterNumber = 427;

    private LinuxKernel()
    {
    }

    internal static LinuxKernel Instance { get; } = new();

    public unsafe int Setup(uint entries, ref RingParameters parameters)
    {
        // SAFETY: the kernel reads and writes the structure only during the call, and it is pinned meanwhile.
        fixed (RingParameters* pointer = &parameters)
        {
            return Result(Libc.SystemCall(SetupNumber, (nint)entries, (nint)pointer, 0, 0, 0, 0));
        }
    }

    public int Enter(int ring, uint toSubmit, uint minimumCompletions, EnterFlags flags, nint argument, nuint argumentBytes) =>
        Result(Libc.SystemCall(
            EnterNumber, ring, (nint)toSubmit, (nint)minimumCompletions, (nint)(uint)flags, argument, (nint)argumentBytes));

    public int Register(int ring, RegisterOpcode opcode, nint argument, uint count) =>
        Result(Libc.SystemCall(RegisterNumber, ring, (nint)(uint)opcode, argument, (nint)count, 0, 0));

    public int SendMessage(int socket, nint message, MessageFlags flags) => Result(Libc.SendMessage(socket, message, (int)flags));

    public string? ReadSetting(string path)
    {
        try
        {
            return File.ReadAllText(path).Trim();
        }
        catch (Exception failure) when (failure is IOException or UnauthorizedAccessException)
        {
            return null;
        }
    }

    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    private static int Result(nint returned) => returned == -1 ? -Libc.LastError : (int)returned;
}
