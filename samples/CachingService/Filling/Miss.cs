using CachingService.Http;
using CachingService.Load;
using CachingService.Origins;

namespace CachingService.Filling;

/// <summary>What the table of fills must know of a request for which nothing fresh is stored. Used by that request alone. Immutable.</summary>
/// <param name="Key">Raw bytes after <c>/object/</c>.</param>
/// <param name="Fields">The client's: which variant it wants.</param>
/// <param name="MakeRequest">Copies what a new fill needs of the client's request; called only for a new fill.</param>
/// <param name="Cut">Ends the client's answer visibly; called if it falls too far behind.</param>
/// <param name="Asked">What the request says about the age of its answer, if it says anything.</param>
/// <param name="Joins">False where no request waits for another one's fill.</param>
/// <param name="Load">What the request's loop sheds at the moment.</param>
internal sealed record Miss(
    string Key, IHeaderDictionary Fields, Func<OriginRequest> MakeRequest, Action Cut, RequestDirectives? Asked, bool Joins, LoadStep Load);
