"""Domains: what runs are started on."""

from mesocosm.store.part import Part


class Domains(Part):
    """Domains: what runs are started on."""
