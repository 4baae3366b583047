namespace IoUringCache.Transport.Tests.Blocking;

/// <summary>How the application of a connection misbehaves.</summary>
public enum Way
{
    /// <summary>It waits for something that happens only when others have been served.</summary>
    Wait,

    /// <summary>It computes until others have been served.</summary>
    Spin,

    /// <summary>It waits for an exchange on another connection of the same loop.</summary>
    WaitForItself,

    /// <summary>It starts processes, which waits uninterruptibly in vfork, and waits for them.</summary>
    StartProcesses,

    /// <summary>It collects garbage again and again until others have been served.</summary>
    Collect,

    /// <summary>It waits as above and then throws.</summary>
    Throw,
}
