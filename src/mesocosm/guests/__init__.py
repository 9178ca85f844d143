"""Benchmarks of other frameworks, each played in a Python of its own.

A *guest* is a process in which a foreign framework runs. `inside/` is what runs there: it imports the standard library
and the framework, nothing of mesocosm. Everything else is our side of the conversation.
"""
