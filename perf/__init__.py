"""Measurements, not tests: `python -m perf` prints all figures, `python -m perf NAME` one."""
