using CachingService.Tests.Infrastructure;
using IoUringCache.Caching.Http;
using Microsoft.Extensions.Primitives;

namespace CachingService.Tests.Http;

/// <summary>RFC 8941 4.2.2, to the letter.</summary>
public sealed class StructuredFieldTests
{
    [Theory]
    [InlineData("", "")]
    [InlineData("  ", "")]
    [InlineData("a", "a=Boolean:?1")]
    [InlineData("a=?0, b=?1", "a=Boolean:?0 b=Boolean:?1")]
    [InlineData("max-age=60", "max-age=Integer:60")]
    [InlineData("a=-5,b=007\t,\t*c_.-*=1", "a=Integer:-5 b=Integer:007 *c_.-*=Integer:1")]
    [InlineData("a=999999999999999", "a=Integer:999999999999999")]
    [InlineData("a=1.5, b=-123456789012.123", "a=Decimal:1.5 b=Decimal:-123456789012.123")]
    [InlineData("a=\"x, \\\"y\\\\\"", "a=String:\"x, \\\"y\\\\\"")]
    [InlineData("a=tok/en:*, b=*", "a=Token:tok/en:* b=Token:*")]
    [InlineData("a=:aGk=:, b=::", "a=Bytes::aGk=: b=Bytes:::")]
    [InlineData("a=(1 \"b\";x  c), b=()", "a=InnerList: b=InnerList:")]
    [InlineData("a;x=1;y;*z=\"q\", b=2; c", "a=Boolean:?1 b=Integer:2")]
    [InlineData("a=1, b=2, a=3", "a=Integer:3 b=Integer:2")]
    public void Text_ThatIsADictionary_IsRead(string text, string expected)
    {
        Assert.True(StructuredField.TryParse(text, out Dictionary<string, StructuredValue>? members));
        Assert.Equal(expected, string.Join(' ', members.Select(member => $"{member.Key}={member.Value.Type}:{member.Value.Text}")));
    }

    [Theory]
    [InlineData("a,")]
    [InlineData("a, ")]
    [InlineData(",a")]
    [InlineData("a,,b")]
    [InlineData("a b")]
    [InlineData("\ta")]
    [InlineData("A=1")]
    [InlineData("1=a")]
    [InlineData("max-age =60")]
    [InlineData("max-age= 60")]
    [InlineData("a=")]
    [InlineData("a=-")]
    [InlineData("a=1.")]
    [InlineData("a=1.2345")]
    [InlineData("a=.5")]
    [InlineData("a=1234567890123.1")]
    [InlineData("a=1000000000000000")]
    [InlineData("a=\"x")]
    [InlineData("a=\"\\x\"")]
    [InlineData("a=\"x\\")]
    [InlineData("a=\"\u00e9\"")]
    [InlineData("a=?2")]
    [InlineData("a=?")]
    [InlineData("a=:a")]
    [InlineData("a=:a b:")]
    [InlineData("a=(1")]
    [InlineData("a=(1,2)")]
    [InlineData("a=(1(2))")]
    [InlineData("a;")]
    [InlineData("a;X")]
    [InlineData("a;b=")]
    [InlineData("a ;b")]
    [InlineData("a=1, &&&")]
    [InlineData("a=@1")]
    public void Text_WithAnyError_IsNone(string text) => Assert.False(StructuredField.TryParse(text, out _));

    [Theory]
    [InlineData("a", "")]
    [InlineData("a; x; y=-1;z=\"; w=1\", b", "x=Boolean:?1 y=Integer:-1 z=String:\"; w=1\"")]
    [InlineData("(1;q 2);x=1", "x=Integer:1")]
    public void Parameters_OfTheFirstMember_AreRead(string text, string expected)
    {
        Assert.True(StructuredField.TryParseList(text, out List<StructuredValue>? members));
        Assert.Equal(
            expected, string.Join(' ', members[0].Parameters.Select(parameter => $"{parameter.Key}={parameter.Value.Type}:{parameter.Value.Text}")));
    }

    [Fact]
    public void Lines_AreOneList()
    {
        Assert.True(StructuredField.TryParse(new StringValues(["a=1", "b"]), out Dictionary<string, StructuredValue>? members));
        Assert.Equal(["a", "b"], members.Keys);
    }

    [Fact]
    public void Text_OfAnyKind_IsADictionaryOrNone() => Seeded.Check(
        Seeded.TextOf("a", "b", "=", ",", ";", " ", "\t", "\"", "\\", "(", ")", ":", "?", "1", "-", ".", "\u00e9", "\0"),
        text => StructuredField.TryParse(text, out Dictionary<string, StructuredValue>? members) == (members is not null));
}
