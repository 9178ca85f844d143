"""Leaderboards of domains and teams, and the gallery: computed from finished runs, kept until these change."""
