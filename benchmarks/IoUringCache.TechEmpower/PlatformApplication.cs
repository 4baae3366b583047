using System.IO.Pipelines;
using Microsoft.AspNetCore.Connections;
using Microsoft.AspNetCore.Connections.Features;

namespace IoUringCache.TechEmpower;

/// <summary>
/// The routes straight on a connection's pipes: every request that a read has brought is answered, and then flushed once. It takes
/// requests without a body, which is all that the load sends; whatever cannot be parsed ends the connection. One call per connection.
/// </summary>
internal static class PlatformApplication
{
    public static async Task ServeAsync(ConnectionContext connection)
    {
        PipeReader input = connection.Transport.Input;
        PipeWriter output = connection.Transport.Output;
        PlatformResponder responder = new();
        using CancellationTokenRegistration registration = connection.Features.Get<IConnectionLifetimeNotificationFeature>()
            ?.ConnectionClosedRequested.UnsafeRegister(static input => ((PipeReader)input!).CancelPendingRead(), input) ?? default;
        try
        {
            ReadResult read;
            FlushResult flushed;
            do
            {
                read = await input.ReadAsync();
                SequencePosition answered = responder.Answer(read.Buffer, output);
                input.AdvanceTo(answered, read.Buffer.End);
                flushed = await output.FlushAsync();
            }
            while (!read.IsCompleted && !read.IsCanceled && !flushed.IsCompleted);
        }
        catch (Exception end) when (end is ConnectionResetException or ConnectionAbortedException or BadHttpRequestException)
        {
            // The client has gone, the server is ending, or the client does not speak HTTP.
        }
    }
}
