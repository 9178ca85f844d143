"""Rollouts in processes of their own, spoken to by the published rollout protocol."""
