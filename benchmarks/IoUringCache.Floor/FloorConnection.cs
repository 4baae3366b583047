namespace IoUringCache.Floor;

/// <summary>One connection. The server's thread.</summary>
internal sealed class FloorConnection(int descriptor)
{
    public int Descriptor { get; } = descriptor;

    /// <summary>Requests that came and whose responses the kernel has not got yet.</summary>
    public int Owed { get; set; }

    /// <summary>The client asked for the end of the connection with its last request.</summary>
    public bool IsLast { get; set; }

    public bool IsSending { get; set; }

    public bool IsReceiving { get; set; }
}
