"""Pooling of finished runs of one kind, and ranking of the pools."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from mesocosm.core.ids import digest
from mesocosm.core.model import MAX_TOKENS
from mesocosm.core.run import DOUBT, Run
from mesocosm.core.score import Metric, MetricResult
from mesocosm.engine.comparison.leaderboard import Duels, Reference, leaderboard, reference
from mesocosm.engine.metrics import PARTS, expected, measure
from mesocosm.server.schemas.environment import CheckState, EnvironmentCheck
from mesocosm.store.leaderboards import Candidate, Entrant, Leaderboards

_DEFAULTS: dict[str, Any] = {"system_prompt": None, "temperature": 0.0, "max_tokens": MAX_TOKENS}


@dataclass(frozen=True, slots=True)
class RunKind:
    """What pooled runs have in common; `agent` is the digest of the agent's configuration.

    `content` is the digest of the environment, because a score over two of its versions would be valid for neither.
    Official runs also share their protocol and their participant.
    """

    domain_id: str
    vow_version: str
    content: str
    model: str
    agent: str
    protocol: int | None = None
    participant: str = ""


@dataclass(frozen=True, slots=True)
class PooledRuns:
    """Finished runs of one kind, newest first, with all their episodes treated as one run.

    `newest` is the newest run with the metrics of all of them; `episodes` counts the finished ones; `cost_usd` is the
    mean cost of an episode, None if a price is unknown. `agent` is the requested configuration, `check` the worst check
    of the environment versions used, `environment_version` that of the newest run, None if the environment is at a URL.
    """

    kind: RunKind
    run_ids: tuple[str, ...]
    newest: Run
    agent: Mapping[str, Any]
    actors: int
    owners: frozenset[str]
    episodes: int
    planned: int
    cost_usd: float | None
    check: CheckState | None
    environment_version: int | None

    @property
    def primary(self) -> MetricResult | None:
        """The metric used for ranking."""
        return self.newest.primary


@dataclass(frozen=True, slots=True)
class BoardPlace:
    """Pooled runs on a leaderboard, ranked between `rank` and `rank_last`; the rest is as in engine.leaderboard."""

    group: PooledRuns
    rank: int | None
    rank_last: int | None
    reference: Reference
    unranked: str = ""
    uncompared: int = 0


def kinds(entrants: Iterable[Entrant]) -> dict[RunKind, list[Entrant]]:
    """Return runs by kind, in the given order."""
    found: dict[RunKind, list[Entrant]] = {}
    for entrant in entrants:
        official = entrant.protocol is not None
        whose = (entrant.protocol, entrant.actor if official else "")
        what = (entrant.domain_id, entrant.vow_version, entrant.content)
        kind = RunKind(*what, entrant.model, _agent_key(entrant.agent), *whose)
        found.setdefault(kind, []).append(entrant)
    return found


def pooled(boards: Leaderboards, kind: RunKind, entrants: Sequence[Entrant]) -> PooledRuns | None:
    """Return the pool of runs of one kind, None if all of them have been deleted in the meantime."""
    runs = boards.runs([entrant.run_id for entrant in entrants])
    present = [entrant for entrant in entrants if entrant.run_id in runs]
    if not present:
        return None
    newest = runs[present[0].run_id]
    planned = sum(map(expected, runs.values()))
    done = sum(run.counts.done for run in runs.values())
    costs = [run.usage.cost_usd for run in runs.values()]
    known = [cost for cost in costs if cost is not None]
    metrics = measure(_metrics_of(newest), boards.scores(runs), planned, parts=_parts(runs.values()))
    doubt = _doubt(runs.values())
    return PooledRuns(
        kind=kind,
        run_ids=tuple(entrant.run_id for entrant in present),
        # Leaderboards are kept in memory; drop what they do not show.
        newest=msgspec.structs.replace(
            newest,
            metrics=metrics,
            info=_some(newest.info, "metrics"),
            provenance={
                **_some(newest.provenance, "rescored_with", "graded_with"),
                **({DOUBT: doubt} if doubt else {}),
            },
            warnings=(),
        ),
        agent=present[0].agent,
        actors=len({entrant.actor for entrant in present}),
        owners=frozenset(entrant.owner for entrant in present),
        episodes=done,
        planned=planned,
        cost_usd=sum(known) / done if done and len(known) == len(costs) else None,
        check=_worst_check(present),
        environment_version=present[0].environment_version,
    )


def ranked(
    boards: Leaderboards, groups: Iterable[PooledRuns], max_missing: float, duels: Duels
) -> tuple[BoardPlace, ...]:
    """Return groups of one domain and vow version, best first, those without a score last.

    `max_missing` and `duels` are those of `engine.leaderboard`.
    """
    # A pool of other runs is another entry, even if its newest run is the same.
    by_id = {digest(list(group.run_ids)): group for group in groups}
    standings = leaderboard(
        [msgspec.structs.replace(group.newest, id=name) for name, group in by_id.items()],
        lambda name, _: boards.scores(by_id[name].run_ids),
        max_missing=max_missing,
        duels=duels,
    )
    places = [
        BoardPlace(
            by_id[standing.run.id],
            standing.rank,
            standing.rank_last,
            standing.reference,
            standing.unranked,
            standing.uncompared,
        )
        for standing in standings
    ]
    scored = {standing.run.id for standing in standings}
    unscored = [group for name, group in by_id.items() if name not in scored]
    unscored.sort(key=lambda group: group.newest.created_at, reverse=True)
    return (*places, *(unplaced(group, "nothing was scored") for group in unscored))


def unplaced(group: PooledRuns, why: str) -> BoardPlace:
    """Return a pool without a rank, with the reason `why`; a reference needs no reason."""
    kind = reference(group.kind.model)
    return BoardPlace(group, None, None, kind, "" if kind else why)


def published(
    candidates: Iterable[Candidate], kinds: Iterable[tuple[RunKind, Collection[str]]]
) -> list[tuple[int, int]]:
    """Return for each kind with its owners: how many of their runs with that model are public, and out of how many.

    If an owner declared every public run as public before it started, only declared runs count; if the owner chose one
    afterwards, all runs that are over count. Deleted runs count as not public.
    """
    theirs: dict[tuple[str, str, str, str], list[Candidate]] = {}
    for one in candidates:
        theirs.setdefault((one.owner, one.domain_id, one.vow_version, one.model), []).append(one)
    found = []
    for kind, owners in kinds:
        counted = []
        for owner in owners:
            runs = theirs.get((owner, kind.domain_id, kind.vow_version, kind.model), [])
            chosen = any(one.shown and not one.declared for one in runs)
            counted += [one for one in runs if chosen or one.declared]
        found.append((sum(one.shown for one in counted), len(counted)))
    return found


def version_order(version: str) -> tuple[int, ...]:
    """Return the sort key of a vow version."""
    return tuple(int(part) if part.isdigit() else 0 for part in version.split("."))


def _doubt(runs: Collection[Run]) -> str:
    """Return why pooled scores cannot be ranked: a run is in doubt, or some were rescored by other rules."""
    doubtful = next((f"of run {run.id}: {run.doubt}" for run in runs if run.doubt), "")
    if doubtful or len({run.regraded for run in runs}) == 1:
        return doubtful
    return "some of its runs were rescored by other rules"


def _worst_check(entrants: Iterable[Entrant]) -> CheckState | None:
    states = {EnvironmentCheck.read(one.verdict).state for one in entrants if one.verdict is not None}
    order: tuple[CheckState, ...] = ("failed", "outdated", "unchecked", "passed")
    return next((state for state in order if state in states), None)


def _some(facts: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: facts[name] for name in names if name in facts}


def _metrics_of(run: Run) -> tuple[Metric, ...]:
    return msgspec.convert(run.info.get("metrics", []), tuple[Metric, ...])


def _parts(runs: Iterable[Run]) -> dict[str, int]:
    """Return the number of episodes planned per part over several runs, for the parts that all of them have."""
    parts: list[Mapping[str, int]] = [run.info.get(PARTS) or {} for run in runs]
    common = set(parts[0]).intersection(*parts[1:]) if parts else set()
    return {name: sum(one[name] for one in parts) for name in common}


def _agent_key(agent: Mapping[str, Any]) -> str:
    techniques = sorted(
        (str(item.get("technique_id", "")), digest(item.get("params") or {}))
        for item in agent.get("techniques") or []
        if isinstance(item, Mapping)
    )
    chosen = {name: agent.get(name, default) for name, default in _DEFAULTS.items()}
    # An empty prompt is equivalent to none.
    return digest({**chosen, "system_prompt": chosen["system_prompt"] or None, "techniques": techniques})
