"""Evaluations of rollouts on a server: submitting them, and running them in workers."""
