namespace IoUringCache.Ring.Tests;

public sealed class UserDataTests
{
    [Theory]
    [InlineData(0, 0, 0, 0x0000_0000_0000_0000UL)]
    [InlineData(1, 2, 3, 0x0100_0002_0000_0003UL)]
    [InlineData(0xAB, 0xCDEF01, 0x23456789, 0xABCD_EF01_2345_6789UL)]
    [InlineData(255, 0xFF_FFFF, int.MaxValue, 0xFFFF_FFFF_7FFF_FFFFUL)]
    public void Value_OfThreeParts_IsPackedAndUnpacked(byte kind, int generation, int slot, ulong value)
    {
        UserData userData = new(kind, generation, slot);

        Assert.Equal(value, userData.Value);
        UserData unpacked = UserData.FromValue(value);
        Assert.Equal(userData, unpacked);
        Assert.Equal((kind, generation, slot), (unpacked.Kind, unpacked.Generation, unpacked.Slot));
    }

    [Theory]
    [InlineData(0x100_0000, 0)]
    [InlineData(0x100_0001, 1)]
    [InlineData(-1, 0xFF_FFFF)]
    public void Generation_Beyond24Bits_Wraps(int given, int kept)
    {
        UserData userData = new(kind: 7, given, slot: 9);

        Assert.Equal((7, kept, 9), (userData.Kind, userData.Generation, userData.Slot));
    }

    [Fact]
    public void Slot_Negative_IsRefused()
    {
        ArgumentOutOfRangeException refusal = Assert.Throws<ArgumentOutOfRangeException>(() => new UserData(0, 0, -1));

        Assert.Equal("slot", refusal.ParamName);
    }
}
