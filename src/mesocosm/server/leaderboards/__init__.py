"""Leaderboards of domains and teams, and the gallery; computed from finished runs and cached until they change."""
