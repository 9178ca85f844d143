"""Domains: register, change and publish them, their protocols, and where they are played."""
