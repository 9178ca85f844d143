"""HTTP/1.1 client for model calls and environment adapters; knows nothing else of ours."""
