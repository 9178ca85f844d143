"""The eleven problems: which family each is of, and whether its plans are disrupted."""

from dataclasses import dataclass
from functools import lru_cache
from random import Random
from typing import Any

from mesocosm.benchmarks.builtin.realm.dinner import DinnerFamily
from mesocosm.benchmarks.builtin.realm.family import Case, Family
from mesocosm.benchmarks.builtin.realm.groups import GroupFamily
from mesocosm.benchmarks.builtin.realm.job_shop import JobShopFamily
from mesocosm.benchmarks.builtin.realm.relief import ReliefFamily
from mesocosm.benchmarks.builtin.realm.supply import SupplyFamily
from mesocosm.benchmarks.builtin.realm.tour import TourFamily
from mesocosm.benchmarks.builtin.realm.transport import TransportFamily, WeddingFamily


@dataclass(frozen=True, slots=True)
class Problem:
    """One of the eleven."""

    name: str
    title: str
    family: Family[Any, Any]
    disrupted: bool = False


PROBLEMS: dict[str, Problem] = {
    problem.name: problem
    for problem in (
        Problem("P1", "tour with time windows", TourFamily()),
        Problem("P2", "guides for visitor groups", GroupFamily()),
        Problem("P3", "rides", TransportFamily()),
        Problem("P4", "rides with disruption", TransportFamily(), disrupted=True),
        Problem("P5", "wedding logistics", WeddingFamily()),
        Problem("P6", "dinner preparation", DinnerFamily()),
        Problem("P7", "disaster relief with disruption", ReliefFamily(), disrupted=True),
        Problem("P8", "wedding logistics with disruption", WeddingFamily(), disrupted=True),
        Problem("P9", "dinner preparation with disruption", DinnerFamily(), disrupted=True),
        Problem("P10", "supply chain with disruption", SupplyFamily(), disrupted=True),
        Problem("P11", "job shop", JobShopFamily()),
    )
}
"""By name, numbered as in REALM-Bench (arXiv 2502.18836), whose instances are not distributed here."""
HIDDEN = frozenset({"since", "slowdown", "closed"})
"""Members of instances that only a disruption fills in."""


@lru_cache(maxsize=1024)
def generated(name: str, number: int, seed: int) -> Case[Any]:
    """Return instance `number` of a problem; equal arguments give equal instances."""
    problem = PROBLEMS[name]
    return problem.family.case(Random(f"realm/{name}/{number}/{seed}"), disrupted=problem.disrupted)
