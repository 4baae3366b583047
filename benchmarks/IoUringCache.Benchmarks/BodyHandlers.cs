using System.Globalization;
using System.Text;
using IoUringCache.Transport.ZeroCopy;
using Microsoft.AspNetCore.Http;

namespace IoUringCache.Benchmarks;

/// <summary>The ways in which a handler answers with a body that it has in memory. Any thread.</summary>
internal static class BodyHandlers
{
    /// <summary>Bytes of a chunk's data, the last one's at most.</summary>
    private const int ChunkBytes = 4096;

    public static RequestDelegate Copied(ReadOnlyMemory<byte> body) => async context =>
    {
        context.Response.ContentLength = body.Length;
        await context.Response.BodyWriter.WriteAsync(body);
    };

    public static RequestDelegate Lent(ReadOnlyMemory<byte> body) => async context =>
    {
        context.Response.ContentLength = body.Length;
        ZeroCopyWriter writer = await StartZeroCopyAsync(context.Response);
        await writer.WriteAsync(body);
    };

    /// <summary>Kestrel frames and copies each chunk.</summary>
    public static RequestDelegate CopiedChunks(ReadOnlyMemory<byte> body) => async context =>
    {
        for (int offset = 0; offset < body.Length; offset += ChunkBytes)
        {
            await context.Response.BodyWriter.WriteAsync(body.Slice(offset, Math.Min(ChunkBytes, body.Length - offset)));
        }
    };

    /// <summary>The chunks were framed once, and are lent to every response.</summary>
    public static RequestDelegate LentChunks(ReadOnlyMemory<byte> body)
    {
        ReadOnlyMemory<byte> framed = Frame(body);
        return async context =>
        {
            context.Response.Headers.TransferEncoding = "chunked";
            ZeroCopyWriter writer = await StartZeroCopyAsync(context.Response);
            await writer.WriteAsync(framed);
        };
    }

    /// <exception cref="InvalidOperationException">The memory would be copied, and the figure be that of something else.</exception>
    private static async ValueTask<ZeroCopyWriter> StartZeroCopyAsync(HttpResponse response)
    {
        ZeroCopyWriter writer = await response.StartZeroCopyAsync();
        return writer.IsZeroCopy ? writer : throw new InvalidOperationException("the transport copies");
    }

    private static byte[] Frame(ReadOnlyMemory<byte> body)
    {
        using MemoryStream framed = new();
        for (int offset = 0; offset < body.Length; offset += ChunkBytes)
        {
            ReadOnlyMemory<byte> chunk = body.Slice(offset, Math.Min(ChunkBytes, body.Length - offset));
            framed.Write(Encoding.ASCII.GetBytes(string.Create(CultureInfo.InvariantCulture, $"{chunk.Length:x}\r\n")));
            framed.Write(chunk.Span);
            framed.Write("\r\n"u8);
        }

        framed.Write("0\r\n\r\n"u8);
        byte[] pinned = GC.AllocateUninitializedArray<byte>((int)framed.Length, pinned: true);
        framed.GetBuffer().AsSpan(0, pinned.Length).CopyTo(pinned);
        return pinned;
    }
}
