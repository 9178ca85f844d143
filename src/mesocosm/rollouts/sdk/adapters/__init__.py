"""Agent frameworks and model clients, bound to the rollout's model by its address and key.

Each module imports its framework, so unused frameworks are not loaded.
"""
