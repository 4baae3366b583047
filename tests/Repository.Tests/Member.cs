namespace Repository.Tests;

/// <summary>A member of a type: its first line (from 1), its code, and its comments with those directly above it.</summary>
internal sealed record Member(int Line, string Code, string Comments);
