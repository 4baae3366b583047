using IoUringCache.Caching.Http;
using IoUringCache.Caching.Load;
using IoUringCache.Caching.Origins;

namespace IoUringCache.Caching.Filling;

/// <summary>What the table of fills must know of a request for which nothing fresh is stored. Used by that request alone.</summary>
internal sealed class MissedRequest
{
    public required ObjectAddress Address { get; init; }

    public string Key => Address.Key;

    /// <summary>The client's: which variant it wants.</summary>
    public required IHeaderDictionary Fields { get; init; }

    /// <summary>
    /// Copies what a fetch needs of the client's request, by the rules by which responses are known to differ. <see langword="null"/> where no
    /// fetch can be made of it whose answer could be for everybody. Called only for a new fill.
    /// </summary>
    public required Func<ReadOnlySpan<VaryRule>, OriginRequest?> MakeRequest { get; init; }

    /// <summary>Ends the client's answer visibly; called if it falls too far behind.</summary>
    public required Action Cut { get; init; }

    /// <summary>What the request says about the age of its answer, if it says anything.</summary>
    public RequestDirectives? Asked { get; init; }

    /// <summary>False where no request waits for another one's fill.</summary>
    public bool Joins { get; init; } = true;

    /// <summary>What the request's loop sheds at the moment.</summary>
    public LoadStep Load { get; init; }

    /// <summary>How the response differs that this request has waited for in vain: the next one is asked for with its fields.</summary>
    public VaryRule Learned { get; private set; } = VaryRule.None;

    /// <summary>Why it has waited in vain, as a Cache-Status detail.</summary>
    public string TurnedAwayBy { get; private set; } = "";

    /// <summary>The response was not for this request, or is older than a purge that came before it.</summary>
    public void TurnAway(VaryRule vary) => (Learned, TurnedAwayBy) = (Learned.With(vary), "vary");

    /// <summary>The response was for the client alone that had caused it.</summary>
    public void TurnAway(string refusal) => TurnedAwayBy = refusal;
}
