"""Benchmarks of who does the work: a matrix of execution mode, provider and instance, with observed capabilities."""
