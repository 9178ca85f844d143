"""Benchmarks: descriptors, what they need, the ones that are built in, and external programs as benchmarks."""
