"""Tests of the benchmark's pure parts: what it reads, what it concludes, what it draws."""
