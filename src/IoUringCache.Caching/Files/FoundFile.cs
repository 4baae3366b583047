using IoUringCache.Ring;

namespace IoUringCache.Caching.Files;

/// <summary>What has become of looking for a file.</summary>
/// <param name="Error"><see cref="Errno.None"/> if it is there.</param>
/// <param name="File">The caller's to dispose of; <see langword="null"/> if it is not there, or not in a form that the client can read.</param>
internal readonly record struct FoundFile(Errno Error, ServedFile? File);
