"""Completion of Python functions, graded by running their tests."""
