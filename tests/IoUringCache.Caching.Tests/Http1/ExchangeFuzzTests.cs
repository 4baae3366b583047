using System.Text;
using IoUringCache.Caching.Http1;

namespace IoUringCache.Caching.Tests.Http1;

/// <summary>
/// Random answers, sound and mutated, in random pieces, on one connection after the other: each exchange ends, with the answer of a second
/// reading of the rules or with a fault, and no byte of it comes into the next one.
/// </summary>
public sealed class ExchangeFuzzTests
{
    private const int Exchanges = 4000;
    private const string Bytes = "0123456789aAxX:;,= \t\r\n\r\n\r\n\0\x7f\xe9";
    private static readonly TimeSpan s_patience = TimeSpan.FromSeconds(10);

    [Theory]
    [InlineData(true)]
    [InlineData(false)]
    public async Task Answers_OfAnyKind_AreReadAsTheReferenceDoesAndNeverMix(bool isInline)
    {
        using PeerFactory peers = new() { IsInline = isInline };
        Random random = Latin1Text.Seeded();
        Http1Connection? idle = null;
        for (int number = 0; number < Exchanges; number++)
        {
            Http1Connection connection = idle ?? await peers.Pool.ConnectAsync(CancellationToken.None);
            PeerConnection peer = peers.PeerOf(connection);
            bool isHead = random.Next(5) == 0;
            string message = Mutate(random, RandomMessage(random, number));

            // What is incomplete without the end of the connection would be waited for.
            bool hasEnded = ResponseReference.Read(message, isHead, hasEnded: false) is null || random.Next(20) == 0;
            (string Answer, bool IsKept)? expected = ResponseReference.Read(message, isHead, hasEnded);

            Task<string?> asking = AskAsync(connection, isHead ? "HEAD" : "GET");
            await SendInPiecesAsync(peer, random, message);
            if (hasEnded)
            {
                peer.End();
            }

            string? answer = await asking.WaitAsync(Patience.Limit);
            connection.Dispose();

            Assert.Equal((number, message, expected?.Answer), (number, message, answer));
            idle = peers.Take();
            Assert.Equal((number, message, expected?.IsKept == true), (number, message, idle is not null));
        }

        idle?.Close();

        peers.Dispose();
        await peers.AssertAllDisposedAsync();
    }

    /// <summary>Status and body; <see langword="null"/> for a fault.</summary>
    private static async Task<string?> AskAsync(Http1Connection connection, string method)
    {
        try
        {
            ReceivedHead head = await connection.SendAsync(PeerFactory.Request(method), s_patience, CancellationToken.None);
            connection.BeginBody(head);
            return $"{head.StatusCode} {await PeerFactory.ReadBodyAsync(connection, s_patience)}";
        }
        catch (Http1Exception)
        {
            connection.Close();
            return null;
        }
    }

    private static async Task SendInPiecesAsync(PeerConnection peer, Random random, string message)
    {
        int largest = random.Next(3) switch { 0 => 3, 1 => 30, _ => int.MaxValue };
        for (int sent = 0; sent < message.Length;)
        {
            int size = Math.Min(message.Length - sent, random.Next(1, largest));
            await peer.SendAsync(message.Substring(sent, size));
            sent += size;
        }
    }

    private static string RandomMessage(Random random, int number)
    {
        StringBuilder message = new();
        for (int interim = random.Next(8) == 0 ? random.Next(1, 34) : 0; interim > 0; interim--)
        {
            message.Append("HTTP/1.1 103 Early Hints\r\nContent-Length: 7\r\n\r\n");
        }

        string status = OneOf("200 OK", "200 OK", "200 OK", "206 Partial", "204 No Content", "304 Not Modified", "404 ", "500", "101 Switch");
        message.Append(OneOf("HTTP/1.1", "HTTP/1.1", "HTTP/1.1", "HTTP/1.1", "HTTP/1.0")).Append(' ').Append(status).Append("\r\n");
        message.Append(OneOf("", "", "Connection: close\r\n", "Connection: keep-alive\r\n", "connection: a,\tClose\r\n", "X-Close: close\r\n"));
        string body = $"{number}:{new string((char)random.Next(0x100), random.Next(50))}";
        if (random.Next(2) == 0)
        {
            message.Append($"Content-Length: {body.Length}\r\n\r\n{body}");
        }
        else if (random.Next(8) > 0)
        {
            int first = random.Next(1, body.Length);
            message.Append("Transfer-Encoding: chunked\r\n\r\n");
            message.Append($"{first:x}\r\n{body[..first]}\r\n{body.Length - first:X2}{OneOf("", ";a=\"b\"")}\r\n{body[first..]}\r\n");
            message.Append($"0\r\n{OneOf("", "", "A: b\r\n")}\r\n");
        }
        else
        {
            message.Append("\r\n").Append(body);
        }

        // A second answer that nobody asked for.
        return message.Append(OneOf("", "", "", "", "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison", "\r\n", "X")).ToString();

        string OneOf(params string[] choices) => choices[random.Next(choices.Length)];
    }

    private static string Mutate(Random random, string sound)
    {
        StringBuilder message = new(sound);
        for (int mutations = random.Next(2) == 0 ? 0 : random.Next(1, 4); mutations > 0 && message.Length > 0; mutations--)
        {
            int at = random.Next(message.Length);
            switch (random.Next(6))
            {
                case 0:
                    message.Remove(at, 1);
                    break;
                case 1:
                    message.Length = at;
                    break;
                case 2:
                    int line = Math.Max(0, sound.IndexOf('\n', Math.Min(at, sound.Length - 1)) + 1);
                    string field = random.Next(2) == 0 ? "Content-Length: 3\r\n" : "Transfer-Encoding: chunked\r\n";
                    message.Insert(Math.Min(line, message.Length), field);
                    break;
                case 3:
                    message.Insert(at, Bytes[random.Next(Bytes.Length)]);
                    break;
                default:
                    message[at] = Bytes[random.Next(Bytes.Length)];
                    break;
            }
        }

        return message.ToString();
    }
}
