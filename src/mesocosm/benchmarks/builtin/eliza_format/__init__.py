"""Whether a model answers in the form that an agent's program can read, and whether what it says there is right."""
