"""Grade-school word problems, graded by the stated final number."""
