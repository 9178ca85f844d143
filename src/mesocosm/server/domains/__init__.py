"""Domains: register, change and publish them, their protocols, and the environments that they run in."""
