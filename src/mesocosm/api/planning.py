"""What a call would do, and what there is to evaluate."""

import asyncio
import os
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

from mesocosm.api.experiments import Arguments, work_for
from mesocosm.api.places import store_at
from mesocosm.api.values import Table
from mesocosm.core.failure import EpisodeError, Incompatible, MesocosmError, UnknownName
from mesocosm.engine import opening
from mesocosm.engine.plan import planned


@dataclass(frozen=True)
class Plan:
    """What the same call of `evaluate` would do.

    Of `episodes` episodes, `finished` are there already. `missing` names what this machine lacks, with the remedy.
    `tokens` and `cost_usd` are expected for the rest, from the mean of finished episodes of the same run; None while
    none is finished.

    >>> plan(rows, prompt="{question}", model="builtin/oracle", trials=3).episodes
    6
    """

    benchmark: str
    model: str
    tasks: int
    episodes: int
    finished: int
    missing: tuple[str, ...] = ()
    tokens: float | None = None
    cost_usd: float | None = None
    notes: tuple[str, ...] = ()

    @property
    def pending(self) -> int:
        """Episodes that would be run."""
        return self.episodes - self.finished

    def __repr__(self) -> str:
        """Return the plan as text."""
        lines = [f"{self.benchmark} · {self.model} · {self.pending} of {self.episodes} episodes to run"]
        if self.tokens is not None:
            cost = "" if self.cost_usd is None else f", about ${self.cost_usd:.2f}"
            lines.append(f"about {self.tokens:,.0f} tokens{cost}, judged by the finished ones")
        lines += [f"missing: {one}" for one in self.missing]
        lines += [f"note: {one}" for one in self.notes]
        return "\n".join(lines)


def plan(what: Any, **arguments: Any) -> Plan:
    """Return what the same call of `evaluate` would do, without running anything.

    Raises UsageError for a call that cannot work.

    >>> plan([{"question": "1 + 1?", "answer": "2"}], prompt="{question}", model="builtin/oracle").episodes
    1
    """
    from mesocosm.api.waiting import waited

    return waited(lambda control: _planned(what, arguments))


async def _planned(what: Any, given: dict[str, Any]) -> Plan:
    names = {one.name for one in fields(Arguments)}
    try:
        work = await asyncio.to_thread(work_for, what, Arguments(**{key: given[key] for key in given if key in names}))
    except Incompatible as error:
        return Plan(str(what), str(given.get("model") or ""), 0, 0, 0, tuple(error.missing))
    parts = await asyncio.to_thread(work.parts, work.spec)
    async with opening.closing(parts):
        missing: list[str] = []
        try:
            await parts.model.check()
        except (EpisodeError, MesocosmError) as error:
            missing.append(str(error))
        record = opening.new_run(work.spec, parts)
        items = list(planned(parts.benchmark, work.spec.selection))
        done, tokens, cost = await asyncio.to_thread(
            _done, given.get("store"), record.signature, {one.digest for one in items}
        )
    episodes = len(items)
    rest = max(episodes - done, 0)
    return Plan(
        record.benchmark,
        work.model or record.model,
        episodes // work.spec.selection.trials,
        episodes,
        done,
        tuple(missing),
        None if tokens is None else tokens * rest,
        None if cost is None else cost * rest,
        work.notes,
    )


def _done(
    place: str | os.PathLike[str] | None, signature: str, digests: set[str]
) -> tuple[int, float | None, float | None]:
    """Return how many episodes of an experiment are finished, and the mean tokens and cost of one."""
    try:
        store = store_at(place, create=False)
    except UnknownName:
        return 0, None, None
    run = store.runs.latest(signature)
    if run is None:
        return 0, None, None
    done = sum(1 for key in store.episodes.finished_keys(run.id) if key.task in digests)
    if not done:
        return 0, None, None
    cost = run.usage.cost_usd
    return done, run.usage.total / done, None if cost is None else cost / done


def list_benchmarks(folders: Sequence[str | os.PathLike[str]] = ()) -> Table:
    """Return the benchmarks that are built in or installed, and those in `folders`: name, title, unit, licence.

    >>> "context-bench" in [row["name"] for row in list_benchmarks()]
    True
    """
    from pathlib import Path

    from mesocosm.benchmarks.catalogue import read_catalogue

    return Table(
        {
            "name": known.descriptor.id,
            "title": known.descriptor.title,
            "version": known.descriptor.version,
            "metric": known.descriptor.score.field,
            "from": known.origin,
        }
        for known in read_catalogue([Path(folder) for folder in folders]).benchmarks
    )
