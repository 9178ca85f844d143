"""The benchmarks that come along, a folder each: `benchmark.toml` and the module that opens it."""
