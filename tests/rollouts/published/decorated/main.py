# mypy: ignore-errors
# ruff: noqa: ANN003
"""A reward function of before 0.2.18: no workflow, so there is nothing to evaluate."""

from osmosis_ai import osmosis_reward


@osmosis_reward
def equal(solution_str: str, ground_truth: str, extra_info: dict | None = None, **kwargs) -> float:
    return float(solution_str == ground_truth)
