"""Benchmarks that compare agents: a matrix of execution mode, provider and instance, with observed capabilities."""
