"""A client of the platform: what is exchanged with it, and how."""
