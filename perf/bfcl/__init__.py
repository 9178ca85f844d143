"""Compare `score_official` of the benchmark bfcl with the leaderboard's own checker on answers made by chance."""
