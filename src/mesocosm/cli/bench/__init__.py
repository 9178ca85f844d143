"""`mesocosm bench …`: run benchmarks, look at what was run, compare models."""
