"""HTTP/1.1 client for model calls and environment adapters; independent of the rest of mesocosm."""
