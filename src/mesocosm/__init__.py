"""Evaluate agents and language models in environments, on datasets and on whole benchmarks."""

__version__ = "0.3.0"
