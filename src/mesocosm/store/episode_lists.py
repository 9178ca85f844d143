"""Listings of the episodes of one run, in any order, out of up to a million."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Select, Subquery, func, select

from mesocosm.core.episode import Episode
from mesocosm.core.score import Score
from mesocosm.store.database import batches
from mesocosm.store.episode_query import PLAN, EpisodeQuery, few
from mesocosm.store.pagination import Columns, Stretch, stretches, together
from mesocosm.store.rows import answered, episode_from, score_from
from mesocosm.store.schema import answers, episodes, scores

BUDGET = 0.015
"""Seconds that one request may scan an index for matching episodes, and as many to count them."""

_WINDOW = 1_000
"""Episodes to scan between two checks of the clock: about 3 ms."""


EPISODE_ORDERS: dict[str, Columns] = {
    "position": PLAN,
    **{
        name: (column, episodes.c.position, episodes.c.id)
        for name, column in (
            ("score", episodes.c.score),
            ("reward", episodes.c.total_reward),
            ("steps", episodes.c.steps),
            ("tokens", episodes.c.tokens),
            ("cost", episodes.c.cost_usd),
            ("duration", episodes.c.duration),
            ("started_at", episodes.c.started_at),
        )
    },
}
EPISODE_SORTS = tuple(EPISODE_ORDERS)
"""Sort keys of episodes; a leading `-` reverses the order."""

_SEEN = (
    *("id", "position", "task_digest", "trial", "status", "task_id", "cluster", "started_at", "steps", "total_reward"),
    *("cost_usd", "failure_cause", "score", "outcome", "tokens", "duration"),
)

Place = tuple[Any, ...]


@dataclass(slots=True)
class FoundEpisodes:
    """Ids with their sort keys, and the key to continue from if the time was used up."""

    rows: list[tuple[str, Place]]
    rest: Place | None = None


def look(
    connection: Connection,
    choice: EpisodeQuery,
    columns: Columns,
    parts: Sequence[Stretch],
    limit: int,
    budget_s: float | None = None,
) -> FoundEpisodes:
    """Find at most `limit` matching episodes, in order.

    Read them straight from an index, sort them in memory if there are few, or scan the index of the order.
    """
    found, end = FoundEpisodes([]), time.monotonic() + (BUDGET if budget_s is None else budget_s)
    straight = choice.everything or (choice.whole and choice.straight and columns is PLAN)
    fits = None if straight else few(connection, choice, list(dict.fromkeys([episodes.c.id, *columns])))
    if fits is not None:
        wanted = select(fits.c.id, *(fits.c[column.name] for column in columns))
        found.rows = _rows(connection, together(wanted, fits.c, parts).limit(limit))
        return found
    for part in parts:
        left = limit - len(found.rows)
        if not left:
            break
        if straight:
            wanted = select(episodes.c.id, *columns).where(*part.conditions).order_by(*part.order).limit(left)
            leads = (condition for (condition,) in choice.leads)
            found.rows += _rows(connection, wanted.where(episodes.c.run_id == choice.run_id, *leads))
            continue
        some = _along(connection, choice, columns, part, left, end)
        found.rows += some.rows
        if some.rest is not None:
            found.rest = some.rest
            break
    return found


def neighbours_of(
    connection: Connection, choice: EpisodeQuery, columns: Columns, place: Place, *, down: bool
) -> tuple[str | None, str | None]:
    """Return the ids of the episodes before and after a place, None if not found; each search gets half of the time."""
    sides = [
        look(connection, choice, columns, stretches(columns, down=down, after=place, back=back), 1, BUDGET / 2).rows
        for back in (True, False)
    ]
    before, after = (side[0][0] if side else None for side in sides)
    return before, after


def _rows(connection: Connection, wanted: Select[Any]) -> list[tuple[str, Place]]:
    return [(row[0], tuple(row[1:])) for row in connection.execute(wanted)]


def _along(
    connection: Connection, choice: EpisodeQuery, columns: Columns, part: Stretch, limit: int, end: float
) -> FoundEpisodes:
    """Scan the index of the order window by window until enough episodes match or the time is used up."""
    found = FoundEpisodes([])
    while True:
        window = _window(choice, part, *part.columns)
        seen = _seen(choice, part)
        places = [seen.c[column.name] for column in columns]
        wanted = select(seen.c.id, *places).where(*choice.fitting(seen.c)).limit(limit - len(found.rows))
        wanted = wanted.order_by(*part.over(seen.c).order)
        found.rows += _rows(connection, wanted)
        if len(found.rows) == limit:
            return found
        last = connection.execute(window.offset(_WINDOW - 1).limit(1)).one_or_none()
        if last is None:
            return found
        part = part.after(tuple(last))
        if time.monotonic() > end:
            found.rest = (None,) * (len(columns) - len(part.columns)) + tuple(last)
            return found


def _seen(choice: EpisodeQuery, part: Stretch) -> Subquery:
    """Return a window with the columns that filters need; the wide ones only if the filter searches them."""
    wide = ("failure", "terminal_info", "labels") if choice.wanted.text else ("labels",) if choice.wanted.label else ()
    names = (*_SEEN, *wide)
    return _window(choice, part, *(episodes.c[name] for name in names)).subquery()


def _window(choice: EpisodeQuery, part: Stretch, *columns: Any) -> Select[Any]:
    wanted = select(*columns).where(episodes.c.run_id == choice.run_id, *part.conditions)
    if part.first is episodes.c.score:
        wanted = wanted.where(*choice.scores)
    return wanted.order_by(*part.order).limit(_WINDOW)


def count_along(connection: Connection, choice: EpisodeQuery, most: int) -> tuple[int, bool]:
    """Count matching episodes along the plan, up to `most`; the flag says whether the count is exact."""
    end = time.monotonic() + BUDGET
    (part,) = stretches(PLAN, down=False, after=None)
    found = 0
    while True:
        seen = _seen(choice, part)
        fit = select(func.count()).select_from(seen).where(*choice.fitting(seen.c))
        found += connection.scalar(fit) or 0
        last = connection.execute(_window(choice, part, *PLAN).offset(_WINDOW - 1).limit(1)).one_or_none()
        if last is None or found > most:
            return min(found, most), found <= most
        if time.monotonic() > end:
            return found, False
        part = part.after(tuple(last))


def episodes_by_id(connection: Connection, ids: Sequence[str]) -> tuple[Episode, ...]:
    """Return episodes in the order of `ids`; episodes deleted in the meantime are left out."""
    found: dict[str, Episode] = {}
    for some in batches(ids):
        wanted = select(episodes).where(episodes.c.id.in_(some))
        found |= {episode.id: episode for episode in with_scores(connection, wanted)}
    return tuple(found[episode_id] for episode_id in ids if episode_id in found)


def with_scores(connection: Connection, wanted: Select[Any]) -> tuple[Episode, ...]:
    """Return the episodes of a query with their scores."""
    rows = connection.execute(wanted).all()
    ids = [row.id for row in rows]
    scored, given = scores_of(connection, ids), answers_of(connection, ids)
    return tuple(answered(episode_from(row, scored.get(row.id, ())), given.get(row.id)) for row in rows)


def answers_of(connection: Connection, ids: Sequence[str]) -> dict[str, Mapping[str, Any]]:
    """Return the rows of `answers` of the given episodes by episode id."""
    found: dict[str, Mapping[str, Any]] = {}
    for some in batches(ids):
        wanted = select(answers).where(answers.c.episode_id.in_(some))
        found |= {row["episode_id"]: row for row in connection.execute(wanted).mappings()}
    return found


def scores_of(connection: Connection, ids: Sequence[str]) -> dict[str, tuple[Score, ...]]:
    """Return the scores of the given episodes by episode id, sorted by name."""
    columns = (
        scores.c.episode_id,
        scores.c.name,
        scores.c.value,
        scores.c.missing,
        scores.c.worst,
        scores.c.explanation,
    )
    found: dict[str, list[Score]] = {}
    for some in batches(ids):
        wanted = select(*columns).where(scores.c.episode_id.in_(some))
        for episode_id, *fields in connection.execute(wanted.order_by(scores.c.episode_id, scores.c.name)):
            found.setdefault(episode_id, []).append(score_from(*fields))
    return {episode_id: tuple(listed) for episode_id, listed in found.items()}
