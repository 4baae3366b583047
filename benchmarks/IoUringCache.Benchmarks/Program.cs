using BenchmarkDotNet.Columns;
using BenchmarkDotNet.Configs;
using BenchmarkDotNet.Diagnosers;
using BenchmarkDotNet.Running;
using IoUringCache.Benchmarks;

IConfig config = DefaultConfig.Instance.AddDiagnoser(MemoryDiagnoser.Default).AddColumn(StatisticColumn.OperationsPerSecond);
BenchmarkSwitcher.FromAssembly(typeof(KestrelBenchmarks).Assembly).Run(args, config);
