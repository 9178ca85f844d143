"""Parse plans, check them against the rules, and compare them with the best one."""

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import msgspec

from mesocosm.benchmarks.builtin.realm.family import Infeasible, ProblemCase
from mesocosm.benchmarks.builtin.realm.problems import RealmProblem
from mesocosm.core.foreign import read_json

MOST_CHARACTERS = 50_000
"""Maximum characters of a reply; the longest sensible plan has about two thousand."""
_FENCED = re.compile(r"```[a-zA-Z]{0,8}[ \t]*\r?\n(.*?)```", re.DOTALL)


class Unmeasured(Exception):
    """A feasible plan of an instance that is too large to solve and has no known bound."""


@dataclass(frozen=True)
class Referee:
    """Judges the plans for one case."""

    problem: RealmProblem
    case: ProblemCase[Any]

    @cached_property
    def first_best(self) -> Any:
        """The best plan before any disruption; None if the instance is too large to solve, or has no solution."""
        family = self.problem.family
        return family.solve(self.case.posed) if family.exact(self.case.posed) else None

    @cached_property
    def best_value(self) -> float | None:
        """The reference optimum; after a disruption, the optimum when the best plan was executed until then."""
        family, changed = self.problem.family, self.case.changed
        if self.first_best is None:
            return None if family.exact(self.case.posed) else family.bound(self.case.posed)
        if changed is None:
            return family.measure(self.case.posed, self.first_best)
        revised = family.solve(changed, self.first_best)
        return None if revised is None else family.measure(changed, revised, self.first_best)

    def read(self, text: str) -> Any:
        """Return the plan in a reply: JSON alone, or one fenced block of JSON. Raises Infeasible."""
        if len(text) > MOST_CHARACTERS:
            raise Infeasible(f"the reply has {len(text)} characters, more than {MOST_CHARACTERS}")
        plain = text.strip()
        if not plain:
            raise Infeasible("the reply is empty")
        if not plain.startswith("{"):
            blocks = _FENCED.findall(plain)
            if len(blocks) != 1:
                raise Infeasible(
                    f"the reply is not a JSON object and holds {len(blocks)} fenced blocks; one plan is wanted"
                )
            plain = blocks[0].strip()
        try:
            return read_json(plain.encode(), self.problem.family.plan)
        except (msgspec.MsgspecError, UnicodeError, RecursionError, ValueError) as error:
            raise Infeasible(f"the plan has not the form that was asked for: {error}") from error

    def first(self, text: str) -> Any:
        """Return the plan of a first reply. Raises Infeasible if it breaks a rule."""
        plan = self.read(text)
        self.problem.family.measure(self.case.posed, plan)
        return plan

    def revised(self, text: str, first: Any) -> Any:
        """Return the plan of a reply after the disruption. Raises Infeasible."""
        plan = self.read(text)
        self.problem.family.measure(self.case.changed, plan, first)
        return plan

    def score(self, first: str, revised: str) -> float:
        """Return feasibility times optimality, from 0 to 1. Raises Infeasible with the reason, or Unmeasured."""
        family = self.problem.family
        plan = self.first(first)
        value = family.measure(self.case.posed, plan)
        if self.case.changed is not None:
            if not revised:
                raise Infeasible("there is no plan for what holds after the disruption")
            value = family.measure(self.case.changed, self.revised(revised, plan), plan)
        best = self.best_value
        if best is None:
            raise Unmeasured(
                "the plan is feasible, but the instance is too large for the exact solver and no bound is known for it"
            )
        return family.ratio(value, best)

    def best(self, first: Any = None) -> Any:
        """Return the oracle's plan; with `first`, its plan after the disruption."""
        family = self.problem.family
        plan = self.first_best if first is None else family.solve(self.case.changed, first)
        return msgspec.to_builtins(plan)
