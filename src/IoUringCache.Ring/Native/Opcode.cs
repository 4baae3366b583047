namespace IoUringCache.Ring.Native;

/// <summary><c>enum io_uring_op</c>: the operations in use.</summary>
internal enum Opcode : byte
{
    /// <summary><c>IORING_OP_NOP</c>, Linux 5.1.</summary>
    Nop = 0,

    /// <summary><c>IORING_OP_READ_FIXED</c>, Linux 5.1.</summary>
    ReadFixed = 4,

    /// <summary><c>IORING_OP_POLL_ADD</c>, Linux 5.1.</summary>
    PollAdd = 6,

    /// <summary><c>IORING_OP_SENDMSG</c>, Linux 5.3.</summary>
    SendMessage = 9,

    /// <summary><c>IORING_OP_TIMEOUT</c>, Linux 5.4.</summary>
    Timeout = 11,

    /// <summary><c>IORING_OP_ACCEPT</c>, Linux 5.5; multishot 5.19.</summary>
    Accept = 13,

    /// <summary><c>IORING_OP_ASYNC_CANCEL</c>, Linux 5.5.</summary>
    AsyncCancel = 14,

    /// <summary><c>IORING_OP_CONNECT</c>, Linux 5.5.</summary>
    Connect = 16,

    /// <summary><c>IORING_OP_READ</c>, Linux 5.6.</summary>
    Read = 22,

    /// <summary><c>IORING_OP_WRITE</c>, Linux 5.6.</summary>
    Write = 23,

    /// <summary><c>IORING_OP_SEND</c>, Linux 5.6; <c>MSG_WAITALL</c> honoured since 5.19.</summary>
    Send = 26,

    /// <summary><c>IORING_OP_RECV</c>, Linux 5.6; multishot 6.0.</summary>
    Receive = 27,
}
