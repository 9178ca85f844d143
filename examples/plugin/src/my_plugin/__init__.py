"""A model, an agent, a grader and a source for mesocosm."""
