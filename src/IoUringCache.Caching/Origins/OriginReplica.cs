using IoUringCache.Caching.Http;
using IoUringCache.Caching.Options;
using Microsoft.Net.Http.Headers;

namespace IoUringCache.Caching.Origins;

/// <summary>One address of the origin: how it has fared, and how many may be there. Any thread; one per address.</summary>
/// <param name="url">Without a trailing slash.</param>
/// <param name="sender">Sends requests to it.</param>
/// <param name="options">Its limits.</param>
/// <param name="isAlone">Whether there is no other.</param>
/// <param name="time">Clock of its circuit.</param>
internal sealed class OriginReplica(string url, IOriginSender sender, OriginOptions options, bool isAlone, TimeProvider time)
{
    private readonly PlaceCount _fills = new(options.MaxFills);
    private readonly PlaceCount _passes = new(options.MaxPasses);
    private long _clockOffset;

    public string Url => url;

    public IOriginSender Sender => sender;

    public OriginCircuit Circuit { get; } = new(options.EjectAfter, options.EjectTime, countsAnswers: !isAlone, time);

    /// <summary>
    /// Seconds by which our clock was ahead of its <c>Date</c>, by its last answer without <c>Age</c>; negative where it was behind. Up to the
    /// time that the answer took, and a second, it says nothing.
    /// </summary>
    public long ClockOffset => Volatile.Read(ref _clockOffset);

    /// <summary>It has answered.</summary>
    /// <param name="head">With a <c>Date</c> of its own, or of ours.</param>
    /// <param name="receivedAt">Our clock when that came.</param>
    public void Compare(ResponseHead head, DateTimeOffset receivedAt)
    {
        if (head[HeaderNames.Age].Count == 0 && HttpDate.TryParse(head[HeaderNames.Date].ToString(), receivedAt, out DateTimeOffset date))
        {
            Volatile.Write(ref _clockOffset, (long)(receivedAt - date).TotalSeconds);
        }
    }

    /// <param name="isPass">Whether the request is a pass; else it is a fill.</param>
    /// <param name="isLastResort">No other address admits it.</param>
    /// <param name="place">The request's, to be disposed of; <see langword="null"/> if it is not admitted.</param>
    public Admission Admit(bool isPass, bool isLastResort, out OriginPlace? place)
    {
        place = null;
        PlaceCount places = isPass ? _passes : _fills;
        if (!places.TryTake())
        {
            return Admission.Full;
        }

        if (!Circuit.TryEnter(isLastResort, out bool isTrial))
        {
            places.Return();
            return Admission.Open;
        }

        place = new(Circuit, places, isTrial);
        return Admission.Admitted;
    }
}

/// <summary>Answer to a request that wants to go to an address of the origin.</summary>
internal enum Admission
{
    Admitted,

    /// <summary>As many are there as may be.</summary>
    Full,

    /// <summary>The address has failed too often.</summary>
    Open,
}
