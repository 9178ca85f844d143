"""Agent frameworks and model clients, bound to the rollout's model by its address and key alone.

Each module loads its framework when it is imported, so that none of them costs anything to those who use another.
"""
