"""The leaderboards of a platform, computed once for everybody who looks."""

import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby
from weakref import WeakKeyDictionary

from mesocosm.client.documents.leaderboard import LeaderboardAgent, LeaderboardEntry, TeamLeaderboardEntry
from mesocosm.platform.boards.grouping import Group, Kind, Place, kinds, pooled, ranked, version_order
from mesocosm.platform.orders.view import metric_document
from mesocosm.platform.service import Service
from mesocosm.store.boards import Boards, Field, Stamp

KEPT = 500
"""Boards that are kept at once."""
_NAMED = 20


@dataclass(frozen=True, slots=True)
class _Kept:
    """A board as it was at a stamp; the groups by the runs that they were made of, as these were then."""

    stamp: Stamp
    entries: tuple[LeaderboardEntry, ...]
    groups: "dict[_Key, Group]"


_Key = tuple[Kind, tuple[tuple[str, float], ...]]


class Leaderboards:
    """The leaderboards of one platform. May be used from any thread.

    A board is computed when its runs have changed; then only groups with other runs are measured anew. Who asks
    meanwhile waits for it.
    """

    def __init__(self, service: Service) -> None:
        self.boards = Boards(service.store.database)
        self._kept: OrderedDict[Field, _Kept] = OrderedDict()
        self._turns: dict[Field, threading.Lock] = {}
        self._lock = threading.Lock()

    def entries(self, field: Field) -> tuple[LeaderboardEntry, ...]:
        """Return the entries of a field: the newest vow version first, and within each domain and version the best."""
        with self._lock:
            turn = self._turns.setdefault(field, threading.Lock())
        with turn:
            stamp = self.boards.stamp(field)
            known = self._known(field)
            if known is not None and known.stamp == stamp:
                return known.entries
            computed = self._computed(field, stamp, known.groups if known is not None else {})
            self._keep(field, computed)
            return computed.entries

    def _computed(self, field: Field, stamp: Stamp, known: Mapping[_Key, Group]) -> _Kept:
        groups: dict[_Key, Group] = {}
        for kind, entrants in kinds(self.boards.entrants(field)).items():
            key = (kind, tuple((entrant.run_id, entrant.changed_at) for entrant in entrants))
            group = known.get(key) or pooled(self.boards, kind, entrants)
            if group is not None:
                groups[key] = group
        return _Kept(stamp, tuple(map(entry_of, _placed(groups.values()))), groups)

    def _known(self, field: Field) -> _Kept | None:
        with self._lock:
            if field in self._kept:
                self._kept.move_to_end(field)
            return self._kept.get(field)

    def _keep(self, field: Field, board: _Kept) -> None:
        with self._lock:
            self._kept[field] = board
            while len(self._kept) > KEPT:
                oldest, _ = self._kept.popitem(last=False)
                self._turns.pop(oldest, None)


_known: WeakKeyDictionary[Service, Leaderboards] = WeakKeyDictionary()
_known_lock = threading.Lock()


def leaderboards_of(service: Service) -> Leaderboards:
    """Return the leaderboards of a platform, the same ones as long as it lives."""
    with _known_lock:
        found = _known.get(service)
        if found is None:
            found = _known[service] = Leaderboards(service)
        return found


def domain_board(service: Service, domain_id: str, limit: int) -> list[LeaderboardEntry]:
    """Return the leaderboard of a domain over all public runs."""
    return list(leaderboards_of(service).entries(Field(domain_id=domain_id))[:limit])


def team_board(service: Service, team_id: str, domain_id: str | None, limit: int) -> list[TeamLeaderboardEntry]:
    """Return the leaderboard of a team over all its finished runs, private ones too; tests are left out."""
    entries = leaderboards_of(service).entries(Field(domain_id=domain_id, team_id=team_id))[:limit]
    rows = service.domains.some({entry.domain_id for entry in entries})
    names = {row.id: row.name for row in rows.values()}
    return [TeamLeaderboardEntry(**entry.model_dump(), domain_name=names.get(entry.domain_id, "")) for entry in entries]


def entry_of(place: Place) -> LeaderboardEntry:
    """Return a place as clients see it."""
    group, primary = place.group, place.group.primary
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
            "reference": place.reference,
            "primary": None if primary is None else metric_document(primary),
            "metrics": [metric_document(metric) for metric in metrics],
            "agent": _agent_of(group),
            "runs": len(group.run_ids),
            "run_ids": list(group.run_ids[:_NAMED]),
            "actors": group.actors,
            "n_tasks": 0 if primary is None else primary.n_tasks,
            "n_scored": 0 if primary is None else primary.n_scored,
            "n_planned": group.planned,
            "missing": {} if primary is None else primary.missing,
            "cost_usd": group.cost_usd,
        }
    )


def _agent_of(group: Group) -> LeaderboardAgent:
    agent = group.agent
    return LeaderboardAgent(
        custom_prompt=bool(agent.get("system_prompt")),
        techniques=sorted(str(item.get("technique_id", "")) for item in agent.get("techniques") or []),
        temperature=agent.get("temperature", 0.0),
        max_tokens=agent.get("max_tokens", 4096),
    )


def _placed(groups: Iterable[Group]) -> tuple[Place, ...]:
    listed = list(groups)
    newest: dict[str, str] = {}
    for group in listed:
        domain_id = group.kind.domain_id
        newest[domain_id] = max(newest.get(domain_id, ""), group.run_ids[0])

    def board(group: Group) -> tuple[str, str, tuple[int, ...], str]:
        kind = group.kind
        return newest[kind.domain_id], kind.domain_id, version_order(kind.vow_version), kind.vow_version

    listed.sort(key=board, reverse=True)
    return tuple(place for _, members in groupby(listed, key=board) for place in ranked(members))
