"""Validate task folders: whether each can be solved, gives rewards for nothing, and can be forged."""

import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mesocosm.benchmarks.harbor.benchmark import KIND, HarborBenchmark
from mesocosm.benchmarks.harbor.cheats import CONTAINER_CHEATS
from mesocosm.benchmarks.harbor.options import CHEAT, NOP, ORACLE, read_options
from mesocosm.benchmarks.harbor.rewards import REWARD
from mesocosm.core.failure import Cause, InfrastructureError
from mesocosm.core.model import ModelSettings
from mesocosm.core.run import AgentSettings, BenchmarkRef, RunSpec, Selection
from mesocosm.engine import session
from mesocosm.store import Store, open_store

BEST = 1.0
"""What a solution must earn; without one the floor, 0, is earned."""
_OF_VERIFIER = frozenset({Cause.GRADER_ERROR, Cause.GRADER_TIMEOUT, Cause.VALUE_MISSING})
_PLAYERS = {
    ORACLE: "runs the solution of the task",
    NOP: "does nothing",
    **{f"{CHEAT}{name}": cheat.told for name, cheat in CONTAINER_CHEATS.items()},
}


@dataclass(frozen=True, slots=True)
class FolderPlayed:
    """What one player earned: the rewards by task, and the causes where there are none."""

    player: str
    told: str
    rewards: Mapping[str, float] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FolderVerdict:
    """The verdict on one task. `solvable` and `free` are None if nobody knows."""

    task: str
    solvable: bool | None
    free: bool | None
    forged: tuple[str, ...] = ()
    reason: str = ""

    @property
    def ok(self) -> bool:
        """Whether nothing was found wrong."""
        return self.solvable is not False and not self.free and not self.forged

    @property
    def words(self) -> str:
        """The verdict in one line."""
        solvable = {True: "solvable", False: "not solvable by its own solution", None: "not known whether solvable"}
        free = {True: "free", False: "not free", None: "not known whether free"}
        forged = f"forgeable by {', '.join(self.forged)}" if self.forged else "not forgeable"
        return " · ".join((solvable[self.solvable], free[self.free], forged))

    def to_json(self) -> dict[str, Any]:
        """Return the verdict as a JSON document."""
        found = {name: getattr(self, name) for name in self.__slots__}
        return {**found, "ok": self.ok, "forgeable": bool(self.forged)}


async def validate_folders(
    folder: Path, options: Mapping[str, Any], count: int | None, say: Callable[[FolderPlayed], None]
) -> list[FolderVerdict]:
    """Let the oracle, nobody, and every cheat play the first `count` tasks; return a verdict on each. Stores nothing.

    `say` is called with what each player earned. Raises UsageError for unusable folders and options, Incompatible if no
    task can be played here, InfrastructureError if a run stops.
    """
    played: dict[str, FolderPlayed] = {}
    with tempfile.TemporaryDirectory(prefix="mesocosm-validate-") as place:
        store = open_store(Path(place) / "results.sqlite")
        try:
            for player, told in _PLAYERS.items():
                found = await _played(folder, {**options, "agent": player}, count, store)
                played[player] = FolderPlayed(player.removeprefix(CHEAT), told, *found)
                say(played[player])
        finally:
            store.close()
    tasks = HarborBenchmark(folder, read_options(options)).tasks(Selection(None, count))
    return [_verdict(task.id, task.digest(), played) for task in tasks]


async def _played(
    folder: Path, options: Mapping[str, Any], count: int | None, store: Store
) -> tuple[dict[str, float], dict[str, str]]:
    spec = RunSpec(
        BenchmarkRef(KIND, str(folder), dict(options)),
        ModelSettings("builtin/empty"),
        AgentSettings("program"),
        Selection(None, count),
        parallel=4,
    )
    run = await session.run(spec, store)
    rows = list(store.episodes.score_rows(run.id, REWARD))
    if not rows:
        raise InfrastructureError(f"{options['agent']} could not play {folder}: {run.error or 'the run stopped'}")
    rewards = {row.task: row.value for row in rows if row.value is not None}
    return rewards, {row.task: str(row.missing) for row in rows if row.value is None}


def _verdict(name: str, task: str, played: Mapping[str, FolderPlayed]) -> FolderVerdict:
    oracle, nobody = played[ORACLE], played[NOP]
    cause = oracle.missing.get(task, "")
    solvable: bool | None = oracle.rewards[task] >= BEST if task in oracle.rewards else None
    if cause in _OF_VERIFIER:
        solvable = False
    floor = max(nobody.rewards.get(task, 0.0), 0.0)
    forged = tuple(
        one.player
        for player, one in played.items()
        if player.startswith(CHEAT) and one.rewards.get(task, floor) > floor
    )
    free = nobody.rewards[task] > 0 if task in nobody.rewards else None
    if free is None and nobody.missing.get(task) in _OF_VERIFIER:
        free = False
    reason = f"the oracle earns nothing: {cause}" if cause else ""
    if solvable is False and not cause:
        reason = f"the oracle earns {oracle.rewards[task]:g} of {BEST:g}"
    return FolderVerdict(name, solvable, free, forged, reason)


def counts(verdicts: list[FolderVerdict]) -> Iterator[str]:
    """Yield how many tasks have each fault; nothing if none has one."""
    for words, number in (
        ("not solvable by their own solution", sum(one.solvable is False for one in verdicts)),
        ("free", sum(bool(one.free) for one in verdicts)),
        ("forgeable", sum(bool(one.forged) for one in verdicts)),
    ):
        if number:
            yield f"{number} of {len(verdicts)} {words}"
