"""The benchmark of benchmarks/bench.py: contestants (what is measured), loads (by what), works (how), report (what came out)."""
