"""Import names for environments written for the original package; everything is re-exported from `mesocosm`."""
