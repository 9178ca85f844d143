"""The import names of environments written for the original package; everything here is re-exported from `mesocosm`."""
