"""Fake servers for plug-in authors and for our own tests.

>>> from mesocosm.testing.model_server import ModelServer
>>> ModelServer("ok", models=["small"]).models
['small']
"""
