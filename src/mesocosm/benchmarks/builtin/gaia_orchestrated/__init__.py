"""Questions that are answered by research, played in a matrix of execution modes and providers."""
