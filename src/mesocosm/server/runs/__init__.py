"""Documents about stored runs: lists, metrics, traces, comparisons, leaderboards, changes."""
