using System.Runtime.Versioning;

// The tests of a ring skip themselves elsewhere; see RingTest.
[assembly: SupportedOSPlatform("linux")]
