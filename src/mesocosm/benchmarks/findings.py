"""Read the output of one attempt of a program, as its descriptor specifies."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from mesocosm.benchmarks.attempt import AttemptDirectory, AttemptEnd
from mesocosm.benchmarks.descriptor import CommandPart
from mesocosm.benchmarks.items import ItemsFile, read_items
from mesocosm.benchmarks.result import UNBOUNDED, Bounds, ResultFileError, ResultValue, locate, number, read_document
from mesocosm.core.failure import Cause
from mesocosm.core.ports import Observation, Step
from mesocosm.core.score import COUNT, STDERR, Score

REPORTED = "reported"
"""The score that the program reports for itself, used when the items determine the ranking score."""


@dataclass(frozen=True, slots=True)
class StoredFiles:
    """The paths of an attempt's files as they are stored; an empty string means that there is no such file."""

    result: str = ""
    items: str = ""


@dataclass(frozen=True, slots=True)
class ProgramPlan:
    """How a program is run and read: the descriptor's command, the name of its score, and the score's bounds."""

    part: CommandPart
    score: str
    bounds: Bounds

    @property
    def primary(self) -> str:
        """The name under which the score in the result file is stored."""
        return REPORTED if self.part.items else self.score

    @property
    def paths(self) -> dict[str, str]:
        """The JSON paths of all numbers in the result file, by name; first that of the score."""
        part = self.part
        beside = {STDERR: part.stderr, COUNT: part.n}
        handed = {f"{self.primary}{end}": path for end, path in beside.items() if path}
        return {self.primary: part.score, **handed, **part.metrics}

    def locate(self, attempt: AttemptDirectory) -> StoredFiles:
        """Return the files that the program wrote in this attempt."""
        result = locate(attempt.output, self.part.result)
        items = locate(attempt.output, (self.part.items,)) if self.part.items else None
        return StoredFiles(attempt.relative(result) if result else "", attempt.relative(items) if items else "")

    def lacking(self, located: StoredFiles) -> str:
        """Return which expected file is missing, as a sentence; empty if none is."""
        if self.part.items:
            return "" if located.items else f"wrote no items: nothing matches {self.part.items} in its output directory"
        if located.result:
            return ""
        return f"wrote no result: nothing matches {', '.join(self.part.result)} in its output directory"


class AttemptScores:
    """The scores of one attempt; `root` is the directory of all attempts."""

    def __init__(self, plan: ProgramPlan, root: Path, ended: AttemptEnd) -> None:
        self._plan = plan
        self._root = root
        self._ended = ended

    def step(self) -> Step:
        """Return the last step of the program's episode, with a note for each problem in its items."""
        notes: tuple[str, ...] = ()
        facts = self.facts()
        if self._ended.items:
            items = self.items
            notes = tuple(f"{self._ended.items}: {problem}" for problem in items.problem_list())
            facts |= {"items": len(items.found), "broken_items": items.broken, "items_file": self._ended.items}
        return Step(Observation(None), terminated=True, info=facts, notes=notes)

    def facts(self) -> dict[str, Any]:
        """Return the facts that are stored in the episode's `terminal_info`."""
        ended = self._ended
        folder = f"attempt-{ended.attempt}"
        facts: dict[str, Any] = {
            "attempt": ended.attempt,
            "returncode": ended.returncode,
            "duration_s": ended.duration_s,
            "stdout": f"{folder}/stdout.log",
            "stderr": f"{folder}/stderr.log",
        }
        if ended.result:
            facts["result"] = ended.result
            facts["found"] = {name: _plain(reading) for name, reading in self.readings().items()}
        return facts

    def readings(self) -> dict[str, ResultValue]:
        """Return the numbers of the result file by name. Never raises: a value that cannot be read is marked as
        missing.
        """
        plan = self._plan
        wanted = plan.paths
        if not self._ended.result:
            return {}
        try:
            document = read_document(self._root / self._ended.result)
        except ResultFileError as error:
            reading = ResultValue(None, Cause.VALUE_UNUSABLE, f"{self._ended.result}: {error}")
            return dict.fromkeys(wanted, reading)
        bounds = {
            plan.primary: plan.bounds,
            f"{plan.primary}{STDERR}": Bounds(0.0, None),
            f"{plan.primary}{COUNT}": Bounds(1.0, None),
        }
        return {name: number(document, path, bounds.get(name, UNBOUNDED)) for name, path in wanted.items()}

    @cached_property
    def items(self) -> ItemsFile:
        """The items that the program wrote; empty if it failed, because they are then incomplete."""
        if self._ended.failed or not self._ended.items:
            return ItemsFile()
        try:
            part = self._plan.part
            found = read_items(self._root / self._ended.items, part.item, self._plan.bounds, part.item_list)
        except OSError as error:
            return ItemsFile(problems=[f"cannot be read: {error.strerror}"])
        calls = self._ended.calls
        found.found = [replace(one, calls=tuple(calls[one.id])) if one.id in calls else one for one in found.found]
        return found


def kept_scores(found: Any, names: Sequence[str]) -> list[Score]:
    """Return the scores that were stored in the episode's `terminal_info` when the program ended."""
    scores = []
    for name in names:
        value = found.get(name) if isinstance(found, dict) else None
        if isinstance(value, int | float) and not isinstance(value, bool):
            scores.append(Score(name, float(value)))
        else:
            scores.append(Score(name, missing=Cause.VALUE_MISSING, explanation=str(value or "")))
    return scores


def _plain(reading: ResultValue) -> float | str:
    return reading.explanation if reading.value is None else reading.value
