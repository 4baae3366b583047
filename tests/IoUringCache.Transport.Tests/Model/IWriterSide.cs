using System.IO.Pipelines;

namespace IoUringCache.Transport.Tests.Model;

/// <summary>A writer under test, and the transport's end of it. One thread at a time.</summary>
internal interface IWriterSide
{
    /// <summary>What the application has.</summary>
    PipeWriter Writer { get; }

    /// <summary>Sends up to so many of the bytes that were flushed, and gives them.</summary>
    byte[] Send(int count);

    /// <summary>Nothing more will be sent.</summary>
    void Fail();
}
