"""Leaderboards and gallery of a server. Leaderboards are cached until their runs change."""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import groupby
from weakref import WeakKeyDictionary

from mesocosm.core.model import MAX_TOKENS
from mesocosm.engine.comparison.leaderboard import Duels
from mesocosm.server.leaderboards.grouping import (
    BoardPlace,
    PooledRuns,
    RunKind,
    kinds,
    pooled,
    published,
    ranked,
    version_order,
)
from mesocosm.server.schemas.document import instant
from mesocosm.server.schemas.environment import EnvironmentCheck
from mesocosm.server.schemas.gallery import GalleryRun
from mesocosm.server.schemas.leaderboard import LeaderboardAgent, LeaderboardEntry, TeamLeaderboardEntry
from mesocosm.server.schemas.metric import MetricDocument
from mesocosm.server.service import Service
from mesocosm.store.leaderboards import BoardScope, BoardStamp, GalleryRow

KEPT = 500
"""Maximum number of cached boards."""
_NAMED = 20


@dataclass(frozen=True, slots=True)
class _Kept:
    """A leaderboard at a stamp, its entries also as JSON, and its groups keyed by their kind and runs.

    `read_at` is a monotonic time; everything stored before it is included.
    """

    read_at: float
    stamp: BoardStamp
    entries: tuple[LeaderboardEntry, ...]
    texts: tuple[bytes, ...]
    groups: "dict[_Key, PooledRuns]"


_Key = tuple[RunKind, tuple[tuple[str, float], ...]]


class LeaderboardCache:
    """The leaderboards of one server. Thread-safe.

    A leaderboard is recomputed when its runs have changed, and then only groups with changed runs are measured again.
    Callers wait while it is computed, and those who ask at once share one look at the stamp, which takes 3 ms for 1,000
    runs: that is what `server.cache.Cache` does not do.
    """

    def __init__(self, service: Service) -> None:
        self.boards = service.store.leaderboards
        self._kept: OrderedDict[BoardScope, _Kept] = OrderedDict()
        self._turns: dict[BoardScope, threading.Lock] = {}
        self._lock = threading.Lock()
        self._max_missing = service.settings.max_missing
        self._duels = Duels()

    def ranked(self, groups: Iterable[PooledRuns]) -> tuple[BoardPlace, ...]:
        """Return competing groups, best first, those without a score last."""
        return ranked(self.boards, groups, self._max_missing, self._duels)

    def entries(self, field: BoardScope) -> tuple[LeaderboardEntry, ...]:
        """Return the entries of a scope: newest vow version first, and best first within each domain and version."""
        return self._present(field).entries

    def texts(self, field: BoardScope) -> tuple[bytes, ...]:
        """Return the same entries as JSON."""
        return self._present(field).texts

    def groups(self, field: BoardScope) -> tuple[PooledRuns, ...]:
        """Return the groups of runs of a scope, in no particular order."""
        return tuple(self._present(field).groups.values())

    def _present(self, field: BoardScope) -> _Kept:
        asked = time.monotonic()
        with self._lock:
            turn = self._turns.setdefault(field, threading.Lock())
        with turn:
            known = self._known(field)
            if known is not None and known.read_at >= asked:
                # Another caller read it while this one waited for the lock.
                return known
            now, stamp = time.monotonic(), self.boards.stamp(field)
            if known is not None and known.stamp == stamp:
                present = replace(known, read_at=now)
            else:
                present = self._computed(field, stamp, now, known.groups if known is not None else {})
            self._keep(field, present)
            return present

    def _computed(self, field: BoardScope, stamp: BoardStamp, now: float, known: Mapping[_Key, PooledRuns]) -> _Kept:
        groups: dict[_Key, PooledRuns] = {}
        for kind, entrants in kinds(self.boards.entrants(field)).items():
            key = (kind, tuple((entrant.run_id, entrant.changed_at) for entrant in entrants))
            group = known.get(key) or pooled(self.boards, kind, entrants)
            if group is not None:
                groups[key] = group
        places = _placed(groups.values(), self.ranked)
        if field.domain_id is None or field.protocol is not None:
            entries = tuple(map(entry_of, places))
        else:
            asked = [(place.group.kind, place.group.owners) for place in places]
            entries = tuple(map(entry_of, places, published(self.boards.candidates(field.domain_id), asked)))
        return _Kept(now, stamp, entries, tuple(entry.model_dump_json().encode() for entry in entries), groups)

    def _known(self, field: BoardScope) -> _Kept | None:
        with self._lock:
            if field in self._kept:
                self._kept.move_to_end(field)
            return self._kept.get(field)

    def _keep(self, field: BoardScope, board: _Kept) -> None:
        with self._lock:
            self._kept[field] = board
            while len(self._kept) > KEPT:
                oldest, _ = self._kept.popitem(last=False)
                self._turns.pop(oldest, None)


_known: WeakKeyDictionary[Service, LeaderboardCache] = WeakKeyDictionary()
_known_lock = threading.Lock()


def leaderboards_of(service: Service) -> LeaderboardCache:
    """Return the leaderboards of a server; always the same object for the same server."""
    with _known_lock:
        found = _known.get(service)
        if found is None:
            found = _known[service] = LeaderboardCache(service)
        return found


def domain_board(service: Service, domain_id: str, limit: int) -> bytes:
    """Return the leaderboard of a domain over all public runs as JSON: a list of LeaderboardEntry.

    The JSON is cached because many clients request the same leaderboard at once.
    """
    return b"[" + b",".join(leaderboards_of(service).texts(BoardScope(domain_id=domain_id))[:limit]) + b"]"


def team_board(service: Service, team_id: str, domain_id: str | None, limit: int) -> list[TeamLeaderboardEntry]:
    """Return the leaderboard of a team over all its finished runs, including private ones but not tests."""
    found = leaderboards_of(service).entries(BoardScope(team_id=team_id))
    entries = [entry for entry in found if domain_id in (None, entry.domain_id)][:limit]
    rows = service.store.domains.some({entry.domain_id for entry in entries})
    names = {row.id: row.name for row in rows.values()}
    return [TeamLeaderboardEntry(**entry.model_dump(), domain_name=names.get(entry.domain_id, "")) for entry in entries]


def gallery_runs(
    service: Service, *, domain_id: str | None, by_score: bool, cursor: str | None, limit: int
) -> list[GalleryRun]:
    """Return public runs of published domains, newest or best first."""
    boards = leaderboards_of(service).boards
    shown = boards.gallery(domain_id=domain_id, by_score=by_score, cursor=cursor, limit=limit)
    return [_gallery_run(run) for run in shown]


def _gallery_run(run: GalleryRow) -> GalleryRun:
    metric = run.metric
    return GalleryRun(
        run_id=run.run_id,
        domain_id=run.domain_id,
        domain_name=run.domain_name,
        model=run.model,
        binding_vow_version=run.vow_version,
        primary_score=None if metric is None else metric.value,
        primary=None if metric is None else MetricDocument.of(metric),
        num_episodes=run.episodes,
        created_at=instant(run.created_at),
        actor_label="Guest" if run.actor.startswith("guest:") else "Member",
        protocol=run.protocol,
        check=None if run.verdict is None else EnvironmentCheck.read(run.verdict).state,
    )


def entry_of(place: BoardPlace, shown: tuple[int, int] | None = None) -> LeaderboardEntry:
    """Return the document of a leaderboard entry; `shown` counts the public runs and all runs of its owners."""
    group, primary = place.group, place.group.primary
    runs = len(group.run_ids)
    public, candidates = shown or (runs, runs)
    metrics = group.newest.metrics
    return LeaderboardEntry.model_validate(
        {
            "run_id": group.run_ids[0],
            "domain_id": group.kind.domain_id,
            "model": group.kind.model,
            "binding_vow_version": group.kind.vow_version,
            "num_episodes": group.episodes,
            "primary_score": None if primary is None else primary.value,
            "all_scores": {metric.name: metric.value for metric in metrics if metric.value is not None},
            "rank": place.rank,
            "rank_last": place.rank_last,
            "tied": place.rank != place.rank_last,
            "unranked": place.unranked,
            "uncompared": place.uncompared,
            "reference": place.reference,
            "primary": None if primary is None else MetricDocument.of(primary),
            "metrics": list(map(MetricDocument.of, metrics)),
            "agent": _agent_of(group),
            "runs": runs,
            "published": public,
            "candidates": candidates,
            "run_ids": list(group.run_ids[:_NAMED]),
            "actors": group.actors,
            "n_tasks": 0 if primary is None else primary.n_tasks,
            "n_scored": 0 if primary is None else primary.n_scored,
            "n_planned": group.planned,
            "missing": {} if primary is None else primary.missing,
            "cost_usd": group.cost_usd,
            "check": group.check,
            "environment_version": group.environment_version,
            "protocol": group.kind.protocol,
        }
    )


def _agent_of(group: PooledRuns) -> LeaderboardAgent:
    agent = group.agent
    return LeaderboardAgent(
        custom_prompt=bool(agent.get("system_prompt")),
        techniques=sorted(str(item.get("technique_id", "")) for item in agent.get("techniques") or []),
        temperature=agent.get("temperature", 0.0),
        max_tokens=agent.get("max_tokens", MAX_TOKENS),
    )


def _placed(
    groups: Iterable[PooledRuns], ranked: Callable[[Iterable[PooledRuns]], tuple[BoardPlace, ...]]
) -> tuple[BoardPlace, ...]:
    listed = list(groups)
    newest: dict[str, str] = {}
    for group in listed:
        domain_id = group.kind.domain_id
        newest[domain_id] = max(newest.get(domain_id, ""), group.run_ids[0])

    def board(group: PooledRuns) -> tuple[str, str, tuple[int, ...], str, int]:
        kind = group.kind
        version = version_order(kind.vow_version), kind.vow_version
        return newest[kind.domain_id], kind.domain_id, *version, kind.protocol or 0

    listed.sort(key=board, reverse=True)
    return tuple(place for _, members in groupby(listed, key=board) for place in ranked(members))
