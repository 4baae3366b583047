using IoUringCache.Caching.Http;
using Microsoft.Net.Http.Headers;

namespace IoUringCache.Caching.Origins;

/// <summary>Asks for a part of a body, and judges whether an answer is that part. Immutable; any thread.</summary>
internal sealed class SliceRequest
{
    /// <summary>Detail of Cache-Status: the origin has another version than that of which slices are stored.</summary>
    public const string Changed = "slice-changed";

    private readonly long _sliceBytes;
    private readonly ByteRange _range;
    private readonly long? _length;
    private readonly Validators? _validators;
    private readonly HeaderField? _condition;

    /// <summary>Asks for the first slice of a body of which nothing is known.</summary>
    public SliceRequest(long sliceBytes) => (_sliceBytes, _range) = (sliceBytes, new(0, sliceBytes - 1));

    /// <summary>Asks for a further slice.</summary>
    /// <param name="mark">Of the first one.</param>
    /// <param name="first">Its head.</param>
    /// <param name="verdict">On the first one: this one is stored as well if that may be.</param>
    /// <param name="index">From 1.</param>
    public SliceRequest(SliceMark mark, ResponseHead first, in SharingVerdict verdict, long index)
    {
        (_sliceBytes, _range, _length) = (mark.SliceBytes, mark.RangeOf(index), mark.Length);
        Verdict = verdict.CanStore ? SharingVerdict.OfSlice : SharingVerdict.OfSlice with { Lifetime = TimeSpan.Zero };
        _validators = new(first);
        _condition = _validators.ConditionOfPart(first);
    }

    /// <summary>Whether it is the first slice, whose answer says what there is.</summary>
    public bool IsFirst => _validators is null;

    /// <summary>On a further slice, which the first one leads to: who has that may have this.</summary>
    public SharingVerdict Verdict { get; }

    public void AddTo(List<HeaderField> fields)
    {
        fields.Add(new(HeaderNames.Range, $"bytes={_range.First}-{_range.Last}"));
        if (_condition is { } condition)
        {
            fields.Add(condition);
        }
    }

    /// <summary>The head of the answer to the request for the first slice, as one of the whole response; others as they came.</summary>
    public ResponseHead Mark(ResponseHead head) => IsFirst && Holds(head) ? SliceMark.MarkFirst(head, _sliceBytes, ContentRange.Of(head)!.Value.CompleteLength) : head;

    /// <summary>Whether a response is the part that was asked for, of the version that was asked about, or of any that can be told from others.</summary>
    public bool Holds(ResponseHead head) =>
        head.StatusCode == StatusCodes.Status206PartialContent
        && ContentRange.Of(head) is { } part
        && part.Range == (_range with { Last = Math.Min(_range.Last, part.CompleteLength - 1) })
        && !(head.ContentLength != part.Range.Length)
        && (IsFirst
            ? new Validators(head).ConditionOfPart(head) is not null
            : part.CompleteLength == _length && _validators!.AreThoseOfPart(new(head)));
}
