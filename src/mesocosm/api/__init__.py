"""The Python API. `mesocosm` exports its names; import them from there."""
