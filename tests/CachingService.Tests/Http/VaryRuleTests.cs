using CachingService.Tests.Infrastructure;
using FsCheck;
using FsCheck.Fluent;
using IoUringCache.Caching.Http;
using Microsoft.AspNetCore.Http;
using Microsoft.Extensions.Primitives;

namespace CachingService.Tests.Http;

/// <summary>By which fields responses differ, and what secondary key a request has (RFC 9111 4.1, RFC 9110 12.5.5).</summary>
public sealed class VaryRuleTests
{
    private static readonly string[] s_names =
        ["X-One", "X-Two", "Accept-Encoding", "Accept", "Accept-Language", "Cookie", "Range", "X-Forwarded-For", "TE", "Connection", "Content-Type", "Host", "If-None-Match"];

    private static readonly FetchFields s_fields = new(["Accept", "Accept-Language"]);

    private static readonly string[] s_values = ["", "a", "b", " a ", "a, b", "a,b", "X-One", "close", "gzip", "br;q=0", "zstd", "=", "x-two=", "de-at , EN;q=0.5"];

    private static Gen<HeaderDictionary> Requests =>
        from fields in Gen.ListOf(
            from name in Gen.Elements(s_names)
            from lines in Gen.NonEmptyListOf(Gen.Elements(s_values))
            select (Name: name, Values: new StringValues([.. lines])))
        select new HeaderDictionary(fields.DistinctBy(each => each.Name).ToDictionary(
            each => each.Name, each => each.Values, StringComparer.OrdinalIgnoreCase));

    private static Gen<VaryRule> Rules =>
        from names in Gen.ListOf(Gen.Elements(s_names))
        select VaryRule.Of(Heads.Create("Vary: " + string.Join(',', names)))!;

    /// <summary>Of what is compressed here.</summary>
    private static Gen<VaryRule> RulesWithCodings =>
        from names in Gen.ListOf(Gen.Elements(s_names))
        from codings in Gen.Elements("zstd br gzip", "gzip")
        from isOfOriginToo in Gen.Elements(true, false)
        select VaryRule.Of(Heads.Create("Vary: " + string.Join(',', names)).With(CodingChoice.Mark(codings, isOfOriginToo)))!;

    [Theory]
    [InlineData("", "")]
    [InlineData("Vary:", "")]
    [InlineData("Vary: ,, ", "")]
    [InlineData("Vary: X", "x")]
    [InlineData("Vary: B, a\tb, A", null)]
    [InlineData("Vary: B,a ,\tb, A,", "a,b")]
    [InlineData("vary: B\r\nVary: a, b", "a,b")]
    [InlineData("Vary: *", null)]
    [InlineData("Vary: X, *", null)]
    [InlineData("Vary: X\r\nVary: *", null)]
    [InlineData("Vary: X;q=1", null)]
    [InlineData("Vary: X(Y)", null)]
    [InlineData("Vary: \"X\"", null)]
    [InlineData("Vary: caf\u00e9", null)]
    [InlineData("Vary: via", null)]
    [InlineData("Vary: Cookie, X-Forwarded-Proto, Range, If-None-Match, If-Range, TE, Connection, Host, Content-Type, Expect", "")]
    [InlineData("Vary: Authorization", "authorization")]
    [InlineData("Vary: Accept-Encoding, Cookie, Origin", "accept-encoding,origin")]
    [InlineData("Content-Encoding: gzip", "accept-encoding")]
    [InlineData("Content-Encoding: gzip\r\nVary: X", "accept-encoding,x")]
    [InlineData("Content-Encoding: gzip\r\nVary: accept-encoding", "accept-encoding")]
    [InlineData("Content-Encoding: gzip, br", "accept-encoding")]
    [InlineData("Content-Encoding: gzip\r\nVary: *", null)]
    [InlineData("Content-Encoding: Identity", "")]
    [InlineData("Content-Encoding:", "")]
    public void Vary_OfAResponse_NamesFieldsThatReachTheOrigin(string fields, string? expected) =>
        Assert.Equal(expected, VaryRule.Of(Heads.Create(fields))?.ToString());

    [Theory]
    [InlineData(32, true)]
    [InlineData(33, false)]
    public void Vary_OfManyFields_IsAsGoodAsAStar(int count, bool isKnown) => Assert.Equal(
        isKnown,
        VaryRule.Of(Heads.Create("Vary: " + string.Join(',', Enumerable.Range(0, count).Select(number => $"X{number}")))) is not null);

    [Theory]
    [InlineData("X: a", "x: a", true)]
    [InlineData("X:  a\t", "X: a", true)]
    [InlineData("X: a\r\nX: b", "X: a, b", true)]
    [InlineData("X: a\r\nX: b", "X: b\r\nX: a", false)]
    [InlineData("X: a", "X: A", false)]
    [InlineData("X: a", "", false)]
    [InlineData("X:", "", false)]
    [InlineData("X: a,b", "X: a, b", false)]
    [InlineData("X: a\r\nY: b", "X: b\r\nY: a", false)]
    [InlineData("X: y=", "Y: ", false)]
    [InlineData("Z: 1", "Z: 2", true)]
    [InlineData("", "Connection: x\r\nX: a", true)]
    [InlineData("", "Connection: z\r\nX: a", false)]
    [InlineData("Accept-Encoding: gzip;q=0.5, deflate", "Accept-Encoding: GZIP", true)]
    [InlineData("Accept-Encoding: gzip", "Accept-Encoding: br", false)]
    [InlineData("Accept-Encoding: identity", "", true)]
    [InlineData("Authorization: a", "", false)]
    public void Requests_WithTheSameValues_HaveOneKey(string one, string other, bool isSame)
    {
        VaryRule rule = VaryRule.Of(Heads.Create("Vary: X, Y, Accept-Encoding, Authorization"))!;

        Assert.Equal(isSame, rule.KeyOf(Heads.Request(one)) == rule.KeyOf(Heads.Request(other)));
    }

    [Fact]
    public void Key_OfARequest_IsThatOfTheFillItWouldStart() => Seeded.Check(
        from rule in Gen.OneOf(Rules, RulesWithCodings)
        from request in Requests
        select (Rule: rule, Request: request),
        pair => pair.Rule.KeyOf(pair.Request)
            == pair.Rule.KeyOf([.. s_fields.Select(pair.Request, pair.Rule)!, new(CodingChoice.FieldName, ((IHeaderDictionary)pair.Request).AcceptEncoding)]));

    [Fact]
    public void Keys_OfTwoRequests_AreEqualWhenTheirFillsSendTheSame() => Seeded.Check(
        from rule in Rules
        from one in Requests
        from other in Requests
        select (Rule: rule, One: one, Other: other),
        pair => (pair.Rule.KeyOf(pair.One) == pair.Rule.KeyOf(pair.Other)) == (Sent(pair.Rule, pair.One) == Sent(pair.Rule, pair.Other)));

    [Fact]
    public void Rules_OfTheSameNamesInAnyOrderAndCase_AreEqual() => Seeded.Check(
        from names in Gen.ListOf(Gen.Elements(s_names))
        from shuffled in Gen.Shuffle(names.ToArray())
        select (One: names, Other: shuffled),
        orders => VaryRule.Of(Heads.Create("Vary: " + string.Join(',', orders.One)))!.Equals(
            VaryRule.Of(Heads.Create("Vary: " + string.Join(" , ", orders.Other.Concat(orders.Other)).ToUpperInvariant()))));

    /// <summary>What a fill sends in the named fields, without a doubt about where a value begins.</summary>
    private static string Sent(VaryRule rule, HeaderDictionary request) => string.Join('|', rule.ToString().Split(',').Select(name =>
        s_fields.Select(request, rule)!.Where(field => field.Name.Equals(name, StringComparison.OrdinalIgnoreCase))
            .Select(field => "!" + string.Join(", ", field.Values.Select(value => value!.Trim()))).SingleOrDefault()));
}
