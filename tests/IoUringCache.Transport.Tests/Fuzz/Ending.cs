namespace IoUringCache.Transport.Tests.Fuzz;

/// <summary>What follows the steps of a script, so that every connection comes to an end that says something.</summary>
internal enum Ending
{
    /// <summary>Both sides end in order and read everything, where the steps left that possible; as <see cref="Dispose"/> elsewhere.</summary>
    Drain,

    /// <summary>The application disposes the connection, and the client reads to the end.</summary>
    Dispose,

    /// <summary>The application aborts, and the client reads to the end.</summary>
    Abort,

    /// <summary>The client resets the connection, and the application disposes it.</summary>
    ClientReset,
}
