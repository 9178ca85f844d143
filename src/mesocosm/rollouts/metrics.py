"""The numbers among what a sample carries as its metrics."""

import math
from collections.abc import Mapping
from typing import Any


def apart(metrics: Mapping[str, Any]) -> tuple[dict[str, float], dict[str, Any]]:
    """Return the finite numbers, as floats, and what else there is."""
    numbers: dict[str, float] = {}
    others: dict[str, Any] = {}
    for name, value in metrics.items():
        number = _number(value)
        if number is None:
            others[name] = value
        else:
            numbers[name] = number
    return numbers, others


def _number(value: Any) -> float | None:
    if not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None
