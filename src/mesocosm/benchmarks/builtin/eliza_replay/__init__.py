"""Scores episodes that were recorded elsewhere; no model is called."""
