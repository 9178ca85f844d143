"""The names of `osmosis_ai.rollout` come from `names`; below are those parts of it that have code of their own."""
