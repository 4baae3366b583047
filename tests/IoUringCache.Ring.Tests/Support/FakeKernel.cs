using IoUringCache.Ring.Native;

namespace IoUringCache.Ring.Tests.Support;

/// <summary>The real kernel, with answers put in its mouth. An answer is a result as the system call gives it, or -errno.</summary>
internal sealed class FakeKernel : IKernel
{
    internal delegate int? SetupAnswer(uint entries, ref RingParameters parameters);

    /// <summary>What a set-up gives; null asks the real kernel.</summary>
    internal SetupAnswer OnSetup { get; set; } = (uint _, ref RingParameters _) => null;

    /// <summary>What an enter gives for so many entries to submit; null asks the real kernel.</summary>
    internal Func<uint, int?> OnEnter { get; set; } = _ => null;

    /// <summary>What a registration gives; null asks the real kernel.</summary>
    internal Func<RegisterOpcode, int?> OnRegister { get; set; } = _ => null;

    /// <summary>Files under /proc: those not listed cannot be read.</summary>
    internal Dictionary<string, string> Settings { get; } = new() { [SetupDiagnosis.ReleaseSetting] = "5.4.0-test" };

    /// <summary>The parameters of every set-up, as they were asked for.</summary>
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
