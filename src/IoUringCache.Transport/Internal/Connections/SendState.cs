namespace IoUringCache.Transport.Internal.Connections;

/// <summary>
/// Who may send what a connection's application has flushed: one thread at a time, so that no byte overtakes another.
/// Owned by the connection's <see cref="SendQueue"/>.
/// <code>
///          another thread takes all that is queued           the loop wants to send or to close
///   Idle ------------------------------------------> Direct -------------------------------------> DirectAwaited
///   ^ ^ |                                              |                                               |
///   | | |      the send is over: ask the loop if       |                    it is over: ask the loop   |
///   | | |      bytes are left or were queued           |                                               |
///   | +-|----------------------------------------------+-----------------------------------------------+
///   |   |
///   |   | the loop takes what is queued
///   |   v                      send submitted
///   +- Taken -----------------------------------------> InKernel ----------- completion -------------> Taken
///    all  | |    file: no space in the socket, poll submitted
///    sent | +-----------------------------------------> AwaitingWritable --- writable, or an error --> Taken
///         |      the kernel has no memory
///         +-------------------------------------------> Waiting ------------ the loop's pause ends --> Taken
/// </code>
/// <para>
/// <b>One sender.</b> A thread leaves Idle under the queue's lock, in the section in which it takes the segments; it
/// sends without the lock, and only it touches them. The thread that went to Direct is the only one to end Direct and
/// DirectAwaited. Taken and the states behind it are the loop thread's: it changes them without the lock, because other
/// threads only compare the state with Idle, and goes back to Idle under the lock.
/// </para>
/// <para>
/// <b>No lost wake-up.</b> A flush asks the loop after it has queued its bytes. A loop that is asked during Direct
/// leaves DirectAwaited behind, and the thread that ends the direct send looks at the state and the queue in the
/// section in which it goes to Idle: it asks again. A loop that is asked while an operation of it runs looks at the
/// queue at the completion.
/// </para>
/// <para>
/// <b>Closing.</b> After <see cref="SendQueue.Stop"/> no thread goes to Direct. The descriptor is closed when the
/// connection has no operation in the kernel and the state is neither Direct nor DirectAwaited.
/// </para>
/// <para>
/// The order counts: from <see cref="Taken"/> on the states are the loop's own, and behind it an operation or a pause
/// of the loop is under way.
/// </para>
/// </summary>
internal enum SendState
{
    Idle,
    Direct,           // A thread other than the loop's is in a send that does not wait.
    DirectAwaited,    // As Direct; that thread asks the loop afterwards.
    Taken,            // The loop has segments and has submitted nothing yet. The last bytes may leave from here.
    InKernel,
    AwaitingWritable, // The loop polls for a writable socket, between two pieces of a file.
    Waiting,          // The kernel refused the loop's send; retried after the loop's pause.
}
