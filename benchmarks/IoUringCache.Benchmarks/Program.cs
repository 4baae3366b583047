using BenchmarkDotNet.Running;
using IoUringCache.Benchmarks;

BenchmarkSwitcher.FromAssembly(typeof(KestrelBenchmarks).Assembly).Run(args);
