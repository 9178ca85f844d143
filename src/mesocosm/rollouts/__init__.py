"""Rollouts: an AgentWorkflow and a Grader, evaluated on the rows of a dataset."""
