"""Fake servers that plug-in authors and our own tests talk to."""
