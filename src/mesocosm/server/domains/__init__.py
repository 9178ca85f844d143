"""Domains: what people run on, with its rules and its changes."""
