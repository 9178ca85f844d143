"""Results of other programs, read as runs: what they played becomes episodes, from which our numbers are computed."""
