"""Validate a benchmark: whether it can be solved, whether it gives points for nothing, and whether cheats earn any."""

import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mesocosm.benchmarks.catalogue import KnownBenchmark
from mesocosm.benchmarks.descriptor import Cheat
from mesocosm.benchmarks.opening import reference
from mesocosm.benchmarks.parameters import settle
from mesocosm.core.failure import Incompatible, MesocosmError, UsageError
from mesocosm.core.model import ModelSettings
from mesocosm.core.ports import Benchmark
from mesocosm.core.registry import SOURCES
from mesocosm.core.run import AgentSettings, BenchmarkRef, RunSpec, Selection
from mesocosm.engine import session
from mesocosm.models.cheats import CHEATS
from mesocosm.store import Store, open_store

_NOT_HERE = "no player can play: "
SOLVER, FREE, CHEAT = "solver", "free", "cheat"
"""Kinds of players: one that knows the answers, those that know nothing, and those that cheat."""
_PLAYERS = {
    "builtin/oracle": (SOLVER, "knows the answers"),
    "builtin/empty": (FREE, "says nothing"),
    "builtin/random": (FREE, "acts at random"),
    **{f"builtin/cheat:{name}": (CHEAT, told) for name, told in CHEATS.items()},
}


@dataclass(frozen=True, slots=True)
class Played:
    """What a player earned: the value of the ranking score with its interval, or why there is none (`missing`)."""

    player: str
    kind: str
    told: str
    value: float | None = None
    low: float | None = None
    high: float | None = None
    scored: int = 0
    missing: str = ""
    weak: bool = False


@dataclass(frozen=True, slots=True)
class BenchmarkVerdict:
    """What all players earned. `floor` is what one may earn who knows nothing; None if nobody says what that is."""

    benchmark: str
    floor: float | None
    best: float | None
    players: tuple[Played, ...]

    def earned(self, one: Played) -> bool:
        """Return whether a player that solves nothing earned more than the floor, beyond chance."""
        if one.kind == SOLVER or one.value is None or self.floor is None:
            return False
        beyond = one.value if self.floor == 0 or one.low is None else one.low
        return beyond > self.floor

    @property
    def solvable(self) -> bool | None:
        """Whether the oracle earns the best score; None if it could not play."""
        value = next((one.value for one in self.players if one.kind == SOLVER), None)
        return None if value is None or self.best is None else value == self.best

    def clean(self, kind: str) -> bool | None:
        """Return whether no player of a kind earned anything; None if none of them has a score."""
        found = [one for one in self.players if one.kind == kind and one.value is not None and self.floor is not None]
        return not any(map(self.earned, found)) if found else None

    @property
    def ok(self) -> bool:
        """Whether nothing was found wrong."""
        return False not in {self.solvable, self.clean(FREE), self.clean(CHEAT)}

    @property
    def words(self) -> str:
        """The verdict in one line."""
        parts = (
            (self.solvable, "solvable", "not solvable by its own answers", "not known whether solvable"),
            (self.clean(FREE), "not free", "free", "not known whether free"),
            (self.clean(CHEAT), "not forgeable", "forgeable", "not known whether forgeable"),
        )
        return " · ".join({True: yes, False: no, None: unknown}[value] for value, yes, no, unknown in parts)

    def to_json(self) -> dict[str, Any]:
        """Return the verdict as a JSON document."""
        players = [
            {name: getattr(one, name) for name in one.__slots__} | {"earned": self.earned(one)} for one in self.players
        ]
        return {
            "benchmark": self.benchmark,
            "ok": self.ok,
            "solvable": self.solvable,
            "free": _no(self.clean(FREE)),
            "forgeable": _no(self.clean(CHEAT)),
            "floor": self.floor,
            "players": players,
        }


def _no(value: bool | None) -> bool | None:
    return None if value is None else not value


async def validate_benchmark(
    known: KnownBenchmark, parameters: Mapping[str, Any], count: int, say: Callable[[Played], None]
) -> BenchmarkVerdict:
    """Let every player play `count` tasks of a benchmark, and return what each earned; nothing is stored.

    The cheats of the descriptor come last. A player that cannot play has no score, with the reason. Raises UsageError
    for unusable parameters.
    """
    descriptor = known.descriptor
    if not descriptor.score.higher_is_better:
        raise UsageError(f"{descriptor.id}: a lower score is better, so nobody can tell what a cheat earns")
    players: list[Played] = []
    with tempfile.TemporaryDirectory(prefix="mesocosm-validate-") as place:
        table = _BenchmarkTable(known, parameters, count, Path(place))
        try:
            for model, (kind, told) in {} if descriptor.offline else _PLAYERS.items():
                players.append(await table.played(Played(model.removeprefix("builtin/"), kind, told), model, {}))
                say(players[-1])
                if players[-1].missing.startswith(_NOT_HERE):
                    break
            for cheat in descriptor.cheat:
                players.append(await table.cheated(cheat))
                say(players[-1])
        finally:
            table.store.close()
    score = descriptor.score
    best = 1.0 if score.threshold is not None else score.high
    return BenchmarkVerdict(descriptor.id, score.floor, best, tuple(players))


async def validate_source(
    ref: BenchmarkRef, count: int, say: Callable[[Played], None], agent: str = ""
) -> BenchmarkVerdict:
    """Let every player play `count` tasks of a source's benchmark, `gym:Taxi-v3`; nothing is stored.

    The floor and the best score are the bounds of its ranking metric: without them nobody can tell what is earned for
    nothing. Raises UsageError, Incompatible.
    """
    opened: Benchmark = SOURCES.get(ref.kind)(ref)
    try:
        info = opened.info
        primary = next((metric for metric in info.metrics if metric.primary), None)
        if primary is not None and not primary.higher_is_better:
            raise UsageError(f"{info.id}: a lower score is better, so nobody can tell what a cheat earns")
    finally:
        await opened.close()
    played_by = AgentSettings(agent or info.agent or "loop")
    rate = primary is not None and primary.aggregation == "pass_rate"
    low, high = (0.0, 1.0) if rate else (None, None) if primary is None else (primary.low, primary.high)
    players: list[Played] = []
    with tempfile.TemporaryDirectory(prefix="mesocosm-validate-") as place:
        table = _Table(Path(place))
        try:
            for model, (kind, told) in _PLAYERS.items():
                one = Played(model.removeprefix("builtin/"), kind, told)
                if kind == SOLVER and not info.oracle:
                    players.append(replace(one, missing="the benchmark has no oracle"))
                else:
                    spec = RunSpec(ref, ModelSettings(model), played_by, Selection(None, count), parallel=4)
                    players.append(await table.scored(one, spec))
                say(players[-1])
                if players[-1].missing.startswith(_NOT_HERE):
                    break
        finally:
            table.store.close()
    return BenchmarkVerdict(info.id, low, high, tuple(players))


class _Table:
    """Where all players play."""

    def __init__(self, place: Path) -> None:
        self._place = place
        self.store: Store = open_store(place / "results.sqlite")

    async def scored(self, one: Played, spec: RunSpec) -> Played:
        """Return what a player earned in a run."""
        try:
            run = await session.run(spec, self.store)
        except Incompatible as error:
            return replace(one, missing=f"{_NOT_HERE}{error}")
        except MesocosmError as error:
            return replace(one, missing=f"could not play: {error}")
        found = run.primary
        if found is None or found.value is None:
            causes = ", ".join(f"{many} {cause}" for cause, many in (found.missing if found else {}).items())
            return replace(one, missing=causes or run.error or "no score")
        return replace(one, value=found.value, low=found.low, high=found.high, scored=found.n_scored, weak=found.weak)


class _BenchmarkTable(_Table):
    """Where all players play one benchmark of the catalogue."""

    def __init__(self, known: KnownBenchmark, parameters: Mapping[str, Any], count: int, place: Path) -> None:
        super().__init__(place)
        self._known = known
        self._parameters = parameters
        self._count = count

    async def cheated(self, cheat: Cheat) -> Played:
        """Return what a cheat of the descriptor earned."""
        kinds, model = self._known.descriptor.parameters, "builtin/empty"
        given = {
            name: str(self._known.folder / value) if name in kinds and kinds[name].type == "path" else value
            for name, value in cheat.parameters.items()
        }
        if cheat.reply:
            script = self._place / "reply.txt"
            script.write_text(cheat.reply, encoding="utf-8")
            model = f"builtin/scripted:{script}"
        return await self.played(Played(cheat.name, CHEAT, "of its own descriptor"), model, given)

    async def played(self, one: Played, model: str, given: Mapping[str, Any]) -> Played:
        """Return what a player earned."""
        descriptor = self._known.descriptor
        (settled,) = settle([descriptor], {**self._parameters, **given}, [descriptor])
        output = Path(tempfile.mkdtemp(dir=self._place))
        spec = RunSpec(
            reference(self._known, settled.parameters, output),
            ModelSettings(model),
            AgentSettings(descriptor.agent, dict(descriptor.agent_options)),
            Selection(None, self._count),
            parallel=4,
        )
        return await self.scored(one, spec)
