"""Full benches."""

from mesocosm.store.part import Part


class Jobs(Part):
    """Full benches."""
