"""A model, an agent and a grader for mesocosm."""
