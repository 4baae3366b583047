using System.Diagnostics.CodeAnalysis;
using System.Runtime.CompilerServices;

// Every signature of Native/Libc.cs is blittable; the attribute makes the compiler hold it to that.
[assembly: DisableRuntimeMarshalling]

// Locals that the kernel fills are zeroed where it matters; nothing else needs the zeroing that the compiler would add.
[module: SkipLocalsInit]

[assembly: Experimental("IOURING001")]
