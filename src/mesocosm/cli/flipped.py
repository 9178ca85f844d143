"""Tasks that one run passes and another fails, by the names under which people know them."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from mesocosm.cli.comparing import named
from mesocosm.cli.main import plural
from mesocosm.cli.progress import ROLLOUT
from mesocosm.engine.comparison.runs import ComparedRuns, RunComparison, RunPair

if TYPE_CHECKING:
    from mesocosm.store import Store

MOST_SHOWN, MOST_LISTED = 12, 5_000
"""Tasks in a line, and in a document."""


def tasks(pair: RunPair, store: "Store") -> list[dict[str, Any]]:
    """Return the flipped tasks of a pair with their scores in both runs, at most `MOST_LISTED`."""
    found = [task for task in pair.contrast.tasks if task.flipped][:MOST_LISTED]
    names = store.episodes.task_ids(pair.b, [task.digest for task in found])
    return [{"task": names.get(task.digest, ""), "digest": task.digest, "a": task.a, "b": task.b} for task in found]


def lines(found: RunComparison, store: "Store") -> Iterator[str]:
    """Yield for each pair which tasks only one of its runs passes."""
    for group in found.groups:
        for pair in group.pairs:
            flipped = tasks(pair, store)
            gained = [one["task"] for one in flipped if (one["b"] or 0) > (one["a"] or 0)]
            lost = [one["task"] for one in flipped if (one["b"] or 0) < (one["a"] or 0)]
            which = f"{group.runs[0].benchmark}: " if len(found.groups) > 1 or len(group.pairs) > 1 else ""
            unit = "row" if group.runs[0].kind == ROLLOUT else "task"
            for run, names in zip(reversed(_named(group, pair)), (gained, lost), strict=True):
                if names:
                    passes = "passes" if len(names) == 1 else "pass"
                    yield f"{which}{plural(len(names), unit)} {passes} only in {run}: {_shown(names)}"


def _named(group: ComparedRuns, pair: RunPair) -> tuple[str, str]:
    names = {run.id: named(run) for run in group.runs}
    first, later = names[pair.a], names[pair.b]
    return (first, later) if first != later else ("the first run", "the later run")


def _shown(names: list[str]) -> str:
    some = ", ".join(sorted(names, key=_order)[:MOST_SHOWN])
    return some if len(names) <= MOST_SHOWN else f"{some}, … (--json lists them)"


def _order(name: str) -> tuple[int, str]:
    return (int(name), "") if name.isdecimal() else (2**63, name)
