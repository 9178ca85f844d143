"""The interface of a family of planning problems: generate, describe, disrupt, measure and solve instances."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, ClassVar, Generic, TypeVar

import msgspec

Instance = TypeVar("Instance", bound=msgspec.Struct)
Plan = TypeVar("Plan", bound=msgspec.Struct)
MOST_TRIES = 2000
"""Draws of an instance before giving up; usually about ten are needed."""


class Infeasible(Exception):
    """A plan breaks a rule of its problem; the message says which."""


@dataclass(frozen=True, slots=True)
class ProblemCase(Generic[Instance]):
    """An instance as posed, and after the disruption if there is one."""

    posed: Instance
    changed: Instance | None = None


class Family(ABC, Generic[Instance, Plan]):
    """Problems of one kind. Times are whole minutes (days in the supply chain) counted from a common zero.

    `rules` describes the constraints and the objective; `more_is_better` is the objective's direction. Every rule is
    hard. After a disruption at `since`, activities of a first plan that had already begun cannot change: see `measure`.
    """

    instance: ClassVar[type[Any]]
    plan: ClassVar[type[Any]]
    rules: ClassVar[str]
    example: ClassVar[str]
    more_is_better: ClassVar[bool] = False

    @abstractmethod
    def draw(self, rng: Random, *, disrupted: bool) -> ProblemCase[Instance] | None:
        """Return a random case, or None if this draw is not usable."""

    @abstractmethod
    def measure(self, instance: Instance, plan: Plan, first: Plan | None = None) -> float:
        """Return the plan's cost, or its value if `more_is_better`. Raises Infeasible.

        `first` is the plan that was executed until the disruption of `instance`; what it had begun must be kept.
        """

    @abstractmethod
    def solve(self, instance: Instance, first: Plan | None = None) -> Plan | None:
        """Return an optimal plan that keeps what `first` had begun, or None if no plan is feasible."""

    @abstractmethod
    def free_of_content(self, instance: Instance) -> Sequence[Plan]:
        """Return trivial plans that require no solving; no generated instance accepts one."""

    def news(self, changed: Instance) -> str:
        """Return the description of the disruption. Raises ValueError for a family without one."""
        raise ValueError(f"{type(self).__name__} has no disruption to tell of")

    def exact(self, instance: Instance) -> bool:
        """Return whether the instance is small enough for `solve`."""
        del instance
        return True

    def bound(self, instance: Instance) -> float | None:
        """Return a bound on the value of any plan, for instances too large to solve, or None if none is known."""
        del instance
        return None

    def case(self, rng: Random, *, disrupted: bool) -> ProblemCase[Instance]:
        """Return a random case that has a solution, but none among the trivial plans."""
        for _ in range(MOST_TRIES):
            case = self.draw(rng, disrupted=disrupted)
            if case is not None and not any(
                self.accepts(case.posed, plan) for plan in self.free_of_content(case.posed)
            ):
                return case
        raise RuntimeError(f"{type(self).__name__}: {MOST_TRIES} draws gave no usable instance")

    def accepts(self, instance: Instance, plan: Plan, first: Plan | None = None) -> bool:
        """Return whether a plan keeps every rule."""
        try:
            self.measure(instance, plan, first)
        except Infeasible:
            return False
        return True

    def ratio(self, value: float, best: float) -> float:
        """Return the share of the optimum that a feasible plan reached, at most 1."""
        own, other = (value, best) if self.more_is_better else (best, value)
        if other <= 0:
            return 1.0 if own >= other else 0.0
        return min(max(own / other, 0.0), 1.0)

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON Schema of a plan."""
        whole = msgspec.json.schema(self.plan)
        parts = dict(whole["$defs"])
        root: dict[str, Any] = parts.pop(self.plan.__name__)
        return {**root, "$defs": parts} if parts else root


def need(condition: object, reason: str) -> None:
    """Raise Infeasible with the reason unless the condition holds."""
    if not condition:
        raise Infeasible(reason)


def once_each(what: str, given: Iterable[str], wanted: Iterable[str]) -> None:
    """Raise Infeasible unless `given` are exactly the names `wanted`, each once, in any order."""
    seen: set[str] = set()
    known = set(wanted)
    for name in given:
        need(name in known, f"there is no {what} {name!r:.60}")
        need(name not in seen, f"{what} {name} occurs twice")
        seen.add(name)
    missing = sorted(known - seen)
    need(not missing, f"{what} {missing[0] if missing else ''} is missing")


def travel_times(rng: Random, places: Sequence[str], size: int = 30) -> dict[str, dict[str, int]]:
    """Return minutes between random places on a square: symmetric, and satisfying the triangle inequality."""
    points = {name: (rng.randint(0, size), rng.randint(0, size)) for name in places}
    return {
        a: {b: abs(points[a][0] - points[b][0]) + abs(points[a][1] - points[b][1]) + 2 for b in places if b != a}
        for a in places
    }
