"""`mesocosm admin`: commands for server operators, which work directly on the store."""
