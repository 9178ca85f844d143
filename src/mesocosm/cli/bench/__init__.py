"""`mesocosm bench …`: run benchmarks, inspect earlier runs, compare models."""
