"""Utilities under the import names of the published package."""
