"""Benchmarks: descriptors, requirements, the built-in ones, and external programs as benchmarks."""
