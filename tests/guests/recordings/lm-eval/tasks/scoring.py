"""Scores of a task: one that is declared, one that is not, and one that is not there for every document."""

import re
from typing import Any


def process_results(doc: dict[str, Any], results: list[str]) -> dict[str, Any]:
    """Return how close a number is to the right one. Raises ValueError for a reply that says "broken"."""
    if "broken" in results[0]:
        raise ValueError("this reply cannot be scored")
    found = re.search(r"-?\d+", results[0])
    scores: dict[str, Any] = {"close": float("nan")}
    if found:
        scores["close"] = 1 / (1 + abs(int(found[0]) - int(doc["answer"])))
        scores["length"] = len(results[0])
    return scores
