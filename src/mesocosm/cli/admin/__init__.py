"""`mesocosm admin`: commands for those who run a platform, working on its store directly."""
