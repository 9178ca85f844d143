"""Rollouts in worker processes, over the published rollout protocol."""
