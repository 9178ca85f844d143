"""Commands of `mesocosm eval`."""
