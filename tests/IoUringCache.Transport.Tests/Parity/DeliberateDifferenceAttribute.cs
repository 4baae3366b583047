namespace IoUringCache.Transport.Tests.Parity;

/// <summary>
/// What a user of Kestrel's Sockets transport would notice, stands on the test that shows it, and is copied into <c>docs/parity.md</c>:
/// on a test that runs over all transports it says where the assertions branch, on one of io_uring alone it says what replaces it.
/// </summary>
[AttributeUsage(AttributeTargets.Method)]
internal sealed class DeliberateDifferenceAttribute(string text) : Attribute
{
    /// <summary>Sentences for the table.</summary>
    internal string Text => text;
}
