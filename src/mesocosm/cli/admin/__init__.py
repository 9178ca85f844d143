"""`mesocosm admin`: commands for operators of a platform, which work directly on its store."""
