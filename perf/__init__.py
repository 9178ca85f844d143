"""Measurements. They print figures and ratios; they are no tests. `python -m perf` runs all, `python -m perf NAME` one."""
