"""Runs that somebody asks the platform for: what is accepted, who may see them, what they may cost."""
