"""Repairs of real repositories, in a matrix of execution modes and providers."""
