"""Questions that require research, in a matrix of execution modes and providers."""
