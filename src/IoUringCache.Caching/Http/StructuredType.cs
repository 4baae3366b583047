namespace IoUringCache.Caching.Http;

/// <summary>What a member of a structured field is (RFC 8941 3).</summary>
internal enum StructuredType
{
    Boolean,
    Integer,
    Decimal,
    String,
    Token,
    Bytes,
    InnerList,
}
