using System.Buffers;
using IoUringCache.Caching.Http;

namespace IoUringCache.Caching.Http1;

/// <summary>A request as it goes out. Immutable.</summary>
/// <param name="Method">A token.</param>
/// <param name="PathPrefix">Before the target: empty, or begins with a slash.</param>
/// <param name="Target">The rest of the path, and the query.</param>
/// <param name="Host">The field's value.</param>
/// <param name="Fields">All others that are to be sent but those on the body's length.</param>
/// <param name="Body"><see langword="null"/> for none.</param>
/// <param name="TellsThatThereIsNoBody">
/// Whether a request without a body says so by its length (RFC 9110 8.6). Otherwise no field that describes a body is sent either.
/// </param>
internal readonly record struct Http1Request(
    string Method,
    string PathPrefix,
    string Target,
    string Host,
    List<HeaderField> Fields,
    IRequestBody? Body,
    bool TellsThatThereIsNoBody);

/// <summary>The body of a request. Used once.</summary>
internal interface IRequestBody
{
    /// <summary>Bytes; <see langword="null"/> where that is not known, so that chunks are sent.</summary>
    long? Length { get; }

    /// <summary>Writes all of it; ends without a failure where <paramref name="target"/> takes no more.</summary>
    /// <param name="target">Where to.</param>
    /// <param name="clock">Stands still while the body is waited for, and begins anew with each piece.</param>
    Task CopyToAsync(IBodyTarget target, IWaitClock clock);
}

/// <summary>Where the body of a request goes. One writer.</summary>
internal interface IBodyTarget
{
    /// <summary>Writes a piece, and waits until it may be written more.</summary>
    /// <returns>Whether the peer takes more. If not, that is no failure yet: its answer may be on the way (RFC 9112 9.6).</returns>
    ValueTask<bool> WriteAsync(ReadOnlySequence<byte> piece);
}

/// <summary>A limit on the time for which a peer is waited for. Any thread.</summary>
internal interface IWaitClock
{
    /// <summary>The wait is for the request's body, and not for the peer.</summary>
    void Stop();

    /// <summary>The wait is for the peer, with all of its time.</summary>
    void Restart();
}
