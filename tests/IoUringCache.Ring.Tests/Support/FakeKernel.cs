using IoUringCache.Ring.Native;

namespace IoUringCache.Ring.Tests.Support;

/// <summary>The real kernel, except for results that a test sets: results of the system call, or -errno.</summary>
internal sealed class FakeKernel : IKernel
{
    internal delegate int? SetupAnswer(uint entries, ref RingParameters parameters);

    /// <summary>Result of a set-up; null calls the real kernel.</summary>
    internal SetupAnswer OnSetup { get; set; } = (uint _, ref RingParameters _) => null;

    /// <summary>Result of an enter with that many entries to submit; null calls the real kernel.</summary>
    internal Func<uint, int?> OnEnter { get; set; } = _ => null;

    /// <summary>Result of a registration; null calls the real kernel.</summary>
    internal Func<RegisterOpcode, int?> OnRegister { get; set; } = _ => null;

    /// <summary>Files under /proc; others cannot be read.</summary>
    internal Dictionary<string, string> Settings { get; } = new() { [SetupDiagnosis.ReleaseSetting] = "5.4.0-test" };

    /// <summary>The requested parameters of every set-up.</summary>
    internal List<(uint Entries, RingParameters Parameters)> Setups { get; } = [];

    internal static int Failure(Errno error) => -(int)error;

    public int Setup(uint entries, ref RingParameters parameters)
    {
        Setups.Add((entries, parameters));
        return OnSetup(entries, ref parameters) ?? LinuxKernel.Instance.Setup(entries, ref parameters);
    }

    public int Enter(int ring, uint toSubmit, uint minimumCompletions, EnterFlags flags, nint argument, nuint argumentBytes) =>
        OnEnter(toSubmit) ?? LinuxKernel.Instance.Enter(ring, toSubmit, minimumCompletions, flags, argument, argumentBytes);

    public int Register(int ring, RegisterOpcode opcode, nint argument, uint count) =>
        OnRegister(opcode) ?? LinuxKernel.Instance.Register(ring, opcode, argument, count);

    public int SendMessage(int socket, nint message, MessageFlags flags) => LinuxKernel.Instance.SendMessage(socket, message, flags);

    public string? ReadSetting(string path) => Settings.GetValueOrDefault(path);
}
