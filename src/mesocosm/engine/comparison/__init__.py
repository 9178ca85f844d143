"""Comparison of runs: differences in settings, paired tests, gates, and leaderboards. Start reading at `runs`."""
