"""The eleven problems, with their families and whether they are disrupted."""

from dataclasses import dataclass
from functools import lru_cache
from random import Random
from typing import Any

from mesocosm.benchmarks.builtin.realm.dinner import DinnerFamily
from mesocosm.benchmarks.builtin.realm.family import Family, ProblemCase
from mesocosm.benchmarks.builtin.realm.groups import GroupFamily
from mesocosm.benchmarks.builtin.realm.job_shop import JobShopFamily
from mesocosm.benchmarks.builtin.realm.relief import ReliefFamily
from mesocosm.benchmarks.builtin.realm.supply import SupplyFamily
from mesocosm.benchmarks.builtin.realm.tour import TourFamily
from mesocosm.benchmarks.builtin.realm.transport import TransportFamily, WeddingFamily


@dataclass(frozen=True, slots=True)
class RealmProblem:
    """One of the eleven problems."""

    name: str
    title: str
    family: Family[Any, Any]
    disrupted: bool = False


PROBLEMS: dict[str, RealmProblem] = {
    problem.name: problem
    for problem in (
        RealmProblem("P1", "tour with time windows", TourFamily()),
        RealmProblem("P2", "guides for visitor groups", GroupFamily()),
        RealmProblem("P3", "rides", TransportFamily()),
        RealmProblem("P4", "rides with disruption", TransportFamily(), disrupted=True),
        RealmProblem("P5", "wedding logistics", WeddingFamily()),
        RealmProblem("P6", "dinner preparation", DinnerFamily()),
        RealmProblem("P7", "disaster relief with disruption", ReliefFamily(), disrupted=True),
        RealmProblem("P8", "wedding logistics with disruption", WeddingFamily(), disrupted=True),
        RealmProblem("P9", "dinner preparation with disruption", DinnerFamily(), disrupted=True),
        RealmProblem("P10", "supply chain with disruption", SupplyFamily(), disrupted=True),
        RealmProblem("P11", "job shop", JobShopFamily()),
    )
}
"""Problems by name, numbered as in REALM-Bench (arXiv 2502.18836). Its instances are not distributed here."""
HIDDEN = frozenset({"since", "slowdown", "closed"})
"""Fields of instances that only a disruption sets."""


@lru_cache(maxsize=1024)
def generated(name: str, number: int, seed: int) -> ProblemCase[Any]:
    """Return instance `number` of a problem; equal arguments give equal instances."""
    problem = PROBLEMS[name]
    return problem.family.case(Random(f"realm/{name}/{number}/{seed}"), disrupted=problem.disrupted)
