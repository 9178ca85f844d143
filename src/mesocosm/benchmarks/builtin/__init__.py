"""The built-in benchmarks, one folder each: `benchmark.toml` and the module that opens it."""
