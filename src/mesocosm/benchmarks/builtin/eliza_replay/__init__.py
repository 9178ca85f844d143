"""Scoring of episodes that were recorded elsewhere; no model is asked."""
