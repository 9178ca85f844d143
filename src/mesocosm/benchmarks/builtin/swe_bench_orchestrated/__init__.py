"""Repairs of real repositories, played in a matrix of execution modes and providers."""
