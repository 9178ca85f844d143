"""Official leaderboards: runs by one protocol of a domain, with seeds drawn by the server.

Selecting runs must give no advantage. All runs of a participant with one model and configuration are pooled, and a
participant with an unfinished or deleted attempt with a model is not ranked with that model.
"""

from collections import Counter
from collections.abc import Mapping

from mesocosm.server.domains.protocols import protocols_of
from mesocosm.server.leaderboards.boards import entry_of, leaderboards_of
from mesocosm.server.leaderboards.grouping import BoardPlace, PooledRuns, unplaced
from mesocosm.server.refusal import Refusal
from mesocosm.server.schemas.protocol import AttemptCounts, OfficialAttempts, OfficialBoard, OfficialEntry
from mesocosm.server.service import Service
from mesocosm.store.leaderboards import BoardScope

_Who = tuple[str, str]
"""A participant (an actor) and a model."""


def official_board(service: Service, domain_id: str, version: int | None, limit: int) -> OfficialBoard:
    """Return the official leaderboard of a domain by a protocol version, by default the newest. Raises Refusal."""
    known = protocols_of(service, domain_id)
    protocol = next((one for one in known if version in (None, one.version)), None)
    if protocol is None and version is not None:
        raise Refusal(404, f"domain {domain_id!r} has no protocol {version}")
    if protocol is None:
        return OfficialBoard(protocol=None, versions=[], entries=[], others=[])
    boards = leaderboards_of(service)
    groups = boards.groups(BoardScope(domain_id=domain_id, protocol=protocol.version))
    became: dict[_Who, Counter[str]] = {}
    for one in boards.boards.tries(domain_id, protocol.version):
        became.setdefault((one.actor, one.model), Counter())[one.state] += 1
    attempts = {who: _attempts(counts) for who, counts in became.items()}
    fair: list[PooledRuns] = []
    unfair: list[BoardPlace] = []
    for group in groups:
        found = attempts.get((group.kind.participant, group.kind.model))
        why = "its runs are gone" if found is None else _reason(found)
        if why:
            unfair.append(unplaced(group, why))
        else:
            fair.append(group)
    unfair.sort(key=lambda place: place.group.newest.created_at, reverse=True)
    places = [*boards.ranked(fair), *unfair]
    shown = {(place.group.kind.participant, place.group.kind.model) for place in places}
    others = [
        OfficialAttempts(model=model, attempts=found)
        for (actor, model), found in sorted(attempts.items(), key=lambda item: item[0][1])
        if (actor, model) not in shown
    ]
    return OfficialBoard(
        protocol=protocol,
        versions=[one.version for one in known],
        entries=[_entry(place, attempts) for place in places[:limit]],
        others=others[:limit],
    )


def _entry(place: BoardPlace, attempts: Mapping[_Who, AttemptCounts]) -> OfficialEntry:
    kind = place.group.kind
    found = attempts.get((kind.participant, kind.model)) or _attempts(Counter(finished=len(place.group.run_ids)))
    return OfficialEntry(**entry_of(place).model_dump(), attempts=found)


def _attempts(counts: Counter[str]) -> AttemptCounts:
    states = {name: counts[name] for name in ("finished", "going", "unfinished", "deleted")}
    return AttemptCounts(total=counts.total(), **states)


def _reason(found: AttemptCounts) -> str:
    """Return why a participant is not ranked with a model; empty if they are."""
    parts = []
    if found.unfinished:
        parts.append(f"{found.unfinished} not finished (resume it)")
    if found.deleted:
        parts.append(f"{found.deleted} deleted")
    return f"of {found.total} attempts {', '.join(parts)}" if parts else ""
