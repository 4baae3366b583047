using System.Diagnostics.CodeAnalysis;

namespace IoUringCache.Caching.Http;

/// <summary>
/// What was last read of a few texts, for those that senders repeat from message to message. Any thread: who looks while another one notes finds
/// the earlier text or the later one.
/// </summary>
/// <typeparam name="T">What a text means. Immutable.</typeparam>
internal sealed class RecentTexts<T>
{
    private const int Slots = 16;

    private readonly Entry?[] _entries = new Entry?[Slots];

    /// <param name="text">What is to be read.</param>
    /// <param name="sum">Of what differs most between such texts; zero or more.</param>
    /// <param name="meaning">Of the same text, to the letter.</param>
    public bool TryFind(ReadOnlySpan<char> text, int sum, [MaybeNullWhen(false)] out T meaning)
    {
        Entry? entry = Volatile.Read(ref _entries[sum % Slots]);
        bool isKnown = entry is not null && text.SequenceEqual(entry.Text);
        meaning = isKnown ? entry!.Meaning : default;
        return isKnown;
    }

    /// <summary>Notes a text, in the place of one with a like <paramref name="sum"/>.</summary>
    /// <inheritdoc cref="TryFind"/>
    public void Note(string text, int sum, T meaning) => Volatile.Write(ref _entries[sum % Slots], new(text, meaning));

    private sealed record Entry(string Text, T Meaning);
}
