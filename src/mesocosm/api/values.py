"""Values with their intervals, and tables of them."""

import html
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

from mesocosm.core.score import MetricResult, interval_text, number_text

if TYPE_CHECKING:
    from mesocosm.engine.results import Chance


class Value(float):
    """A number with its interval: `low` and `high` at 95 %, `n` episodes with a value of `planned`.

    `missing` counts planned episodes without a value by cause; `pessimistic` is the value that counts them as worst.
    It is a float: comparisons, formats and NumPy work.

    >>> run.score > 0.8
    True
    """

    low: float | None
    high: float | None
    n: int
    planned: int
    missing: Mapping[str, int]
    method: str
    weak: bool
    pessimistic: float | None

    def __new__(cls, value: float, **facts: Any) -> Self:
        """Return a value with its facts."""
        found = super().__new__(cls, value)
        found.__dict__.update(facts)
        return found

    def __getnewargs_ex__(self) -> tuple[tuple[float], dict[str, Any]]:
        """Return what copies and pickles are made of."""
        return (float(self),), dict(self.__dict__)

    @property
    def interval(self) -> str:
        """The interval as text, with `weak` if it rests on few values; empty if there is none."""
        return interval_text(self.low, self.high, weak=self.weak)

    def __repr__(self) -> str:
        """Return value, interval and counts."""
        return " ".join(filter(None, (number_text(self), self.interval, f"n={self.n}/{self.planned}")))

    def __str__(self) -> str:
        """Return the same as repr; a format, as in `f"{run.score:.2f}"`, shows the bare number."""
        return repr(self)


def value_of(metric: MetricResult | None) -> Value | None:
    """Return a metric as a Value; None if nothing was scored."""
    if metric is None or metric.value is None:
        return None
    return Value(
        metric.value,
        low=metric.low,
        high=metric.high,
        n=metric.n_scored,
        planned=metric.n_planned,
        missing=dict(metric.missing),
        method=metric.method,
        weak=metric.weak,
        pessimistic=metric.pessimistic,
    )


def chance_value(chance: "Chance") -> Value:
    """Return pass@k or pass^k as a Value; its `n` are tasks."""
    return Value(
        chance.value,
        low=chance.low,
        high=chance.high,
        n=chance.tasks,
        planned=chance.tasks,
        missing={},
        method=chance.method,
        weak=chance.weak,
        pessimistic=chance.pessimistic,
    )


class Table(list[dict[str, Any]]):
    """Rows of a table; printed with aligned columns, and as a table in a notebook."""

    def _repr_html_(self) -> str:
        if not self:
            return "(nothing)"
        head = "".join(f"<th>{html.escape(str(column))}</th>" for column in self[0])
        rows = "".join(
            f"<tr>{''.join(f'<td>{html.escape(cell(row.get(column)))}</td>' for column in self[0])}</tr>"
            for row in self
        )
        return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"

    def __repr__(self) -> str:
        """Return the table as text."""
        if not self:
            return "(nothing)"
        columns = list(self[0])
        cells = [columns, *([cell(row.get(column)) for column in columns] for row in self)]
        widths = [max(len(row[place]) for row in cells) for place in range(len(columns))]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in cells]
        return "\n".join(line.rstrip() for line in lines)


def cell(value: Any) -> str:
    """Return a value as it stands in a table."""
    if value is None:
        return "–"
    return repr(value) if isinstance(value, Value) else f"{value:g}" if isinstance(value, float) else str(value)
