using System.IO.Pipelines;

namespace IoUringCache.Transport.Tests.Model;

/// <summary>A reader under test, and the transport's end of it. One thread at a time.</summary>
internal interface IReaderSide
{
    /// <summary>What the application has.</summary>
    PipeReader Reader { get; }

    /// <summary>Whether the transport has been asked to add no more for now.</summary>
    bool IsPaused { get; }

    /// <summary>Adds bytes; false if the application reads no more.</summary>
    bool Append(ReadOnlySpan<byte> bytes);

    /// <summary>Nothing more will be added.</summary>
    void End(Exception? error);
}
