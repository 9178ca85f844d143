"""The single-turn part of the Berkeley Function-Calling Leaderboard, graded by the rules of its own checker."""
