"""Fake servers for plug-in authors and for our own tests."""
