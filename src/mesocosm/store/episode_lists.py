"""Listings of the episodes of one run, in any order, out of a million."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Select, Subquery, func, select, tuple_

from mesocosm.core.episode import Episode, EpisodeStatus
from mesocosm.core.failure import UnknownName
from mesocosm.core.ports import Page
from mesocosm.store.choice import Choice, choose, few
from mesocosm.store.episodes import scores_of
from mesocosm.store.filters import EpisodeFilter
from mesocosm.store.pagination import Columns, Stretch, checked, chosen, read_cursor, stretches, together, write_cursor
from mesocosm.store.part import Part
from mesocosm.store.rows import episode_from
from mesocosm.store.schema import CAUSED, UNUSUAL, episodes, scores

BUDGET = 0.03
"""Seconds that one request looks along an index for episodes that fit."""

_WINDOW = 1_000
"""Episodes looked at between two looks at the clock: about 3 ms."""

_BATCH = 500

_PLAN = (episodes.c.position, episodes.c.task_digest, episodes.c.trial)
_ORDERS: dict[str, Columns] = {
    "position": _PLAN,
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
EPISODE_SORTS = tuple(_ORDERS)
"""What episodes can be sorted by; a leading `-` turns the order around."""

_SEEN = (
    *("id", "position", "task_digest", "trial", "status", "task_id", "cluster", "started_at", "steps", "total_reward"),
    *("cost_usd", "failure_cause", "score", "outcome", "tokens", "duration"),
)

Place = tuple[Any, ...]


@dataclass(slots=True)
class _Found:
    """Ids with their places, and where to go on when the time was used up."""

    rows: list[tuple[str, Place]]
    rest: Place | None = None


class EpisodeLists(Part):
    """Listings of episodes of the store."""

    def episodes(
        self, run_id: str, *, cursor: str | None = None, limit: int = 200, status: EpisodeStatus | None = None
    ) -> Page:
        """Return a page of episodes with their scores, in the order of the plan. Raises UsageError."""
        wanted = select(episodes).where(episodes.c.run_id == run_id).order_by(*_PLAN).limit(checked(limit) + 1)
        if status is not None:
            wanted = wanted.where(episodes.c.status == status)
        if status not in {None, EpisodeStatus.COMPLETED}:
            wanted = wanted.where(UNUSUAL)
        if cursor is not None:
            wanted = wanted.where(tuple_(*_PLAN) > tuple(read_cursor(cursor, "episodes", _PLAN)))

        def work(connection: Connection) -> Page:
            items = _with_scores(connection, wanted)
            shown = items[:limit]
            place = (shown[-1].index, *shown[-1].key) if len(items) > limit else None
            return Page(shown, None if place is None else write_cursor("episodes", place))

        return self._database.read(work)

    def list_episodes(
        self,
        run_id: str,
        filter: EpisodeFilter | None = None,  # noqa: A002 - what a caller would call it
        sort: str = "position",
        cursor: str | None = None,
        limit: int = 200,
    ) -> Page:
        """Return a page of the episodes that fit, with their scores.

        Equal values stand in the order of the plan; episodes without the value come last in both directions. `score`
        is the one that the primary metric reads. A page that is `partial` took its time: nothing more fits up to its
        cursor, which may be asked from at once. Raises UsageError for a cursor, limit or sort that cannot be.
        """
        columns, down = chosen(_ORDERS, sort, "episodes")
        after = None if cursor is None else tuple(read_cursor(cursor, f"episodes {sort}", columns))
        parts = stretches(columns, down=down, after=after)
        checked(limit)

        def work(connection: Connection) -> Page:
            choice = self._choice(connection, run_id, filter)
            found = _look(connection, choice, columns, parts, limit + 1)
            shown = found.rows[:limit]
            rest = found.rest if len(found.rows) <= limit else shown[-1][1]
            items = _by_id(connection, [episode_id for episode_id, _place in shown])
            partial = rest is not None and len(found.rows) <= limit
            return Page(items, None if rest is None else write_cursor(f"episodes {sort}", rest), partial)

        return self._database.read(work)

    def episodes_at(self, run_id: str, first: int, count: int) -> tuple[Episode, ...]:
        """Return the episodes whose place in the plan is in `first` … `first + count - 1`, at most 1,000."""
        here = (episodes.c.position >= first, episodes.c.position < first + checked(count))
        wanted = select(episodes).where(episodes.c.run_id == run_id, *here).order_by(*_PLAN).limit(_BATCH * 2)
        return self._database.read(lambda connection: _with_scores(connection, wanted))

    def failures(self, run_id: str) -> tuple[tuple[str, int, Episode], ...]:
        """Return the causes of failed episodes, most frequent first: cause, how many, and the first episode of each."""
        wanted = (
            select(episodes.c.failure_cause, func.count(), func.min(episodes.c.position))
            .where(episodes.c.run_id == run_id, CAUSED)
            .group_by(episodes.c.failure_cause)
            .order_by(func.count().desc(), episodes.c.failure_cause)
        )
        rows = self._database.read(lambda connection: connection.execute(wanted).all())
        return tuple(
            (cause, count, first) for cause, count, position in rows for first in self.episodes_at(run_id, position, 1)
        )

    def first_missing(self, run_id: str, score: str, cause: str) -> Episode | None:
        """Return the first episode of the plan whose `score` is missing for `cause`; None without any."""
        wanted = (
            select(func.min(episodes.c.position))
            .join(scores, scores.c.episode_id == episodes.c.id)
            .where(scores.c.run_id == run_id, scores.c.name == score, scores.c.missing == cause)
        )
        position = self._database.read(lambda connection: connection.scalar(wanted))
        return None if position is None else next(iter(self.episodes_at(run_id, position, 1)), None)

    def episodes_of_task(self, run_id: str, task_digest: str) -> tuple[Episode, ...]:
        """Return all trials of one task in a run, at most 1,000."""
        mine = (episodes.c.run_id == run_id, episodes.c.task_digest == task_digest)
        wanted = select(episodes).where(*mine).order_by(episodes.c.trial).limit(_BATCH * 2)
        return self._database.read(lambda connection: _with_scores(connection, wanted))

    def count_episodes(
        self,
        run_id: str,
        filter: EpisodeFilter | None = None,  # noqa: A002
        most: int = 10_000,
    ) -> tuple[int, bool]:
        """Return how many episodes fit, and whether that is exact: counting ends at `most`, or when it takes long."""

        def work(connection: Connection) -> tuple[int, bool]:
            choice = self._choice(connection, run_id, filter)
            mine = select(episodes.c.run_id).where(episodes.c.run_id == run_id)
            if choice.everything or choice.whole:
                found = _number(connection, mine.where(*(condition for (condition,) in choice.leads)), most)
                return min(found, most), found <= most
            fits = few(connection, choice, [episodes.c.run_id])
            if fits is not None:
                found = _number(connection, select(fits), most)
                return min(found, most), found <= most
            return _count_along(connection, choice, most)

        return self._database.read(work)

    def neighbours(
        self,
        episode_id: str,
        filter: EpisodeFilter | None = None,  # noqa: A002
        sort: str = "position",
    ) -> tuple[str | None, str | None]:
        """Return the ids of the previous and the next episode of the same run under a filter and an order.

        None where there is none, or where a rare one was not found in time. Raises UnknownName, UsageError.
        """
        columns, down = chosen(_ORDERS, sort, "episodes")

        def work(connection: Connection) -> tuple[str | None, str | None]:
            wanted = select(episodes.c.run_id, *columns).where(episodes.c.id == episode_id)
            row = connection.execute(wanted).one_or_none()
            if row is None:
                raise UnknownName(f"there is no episode {episode_id!r}; it may have been removed with its run")
            choice = self._choice(connection, row[0], filter)
            sides = [
                _look(connection, choice, columns, parts, 1, BUDGET / 2).rows
                for parts in (
                    stretches(columns, down=down, after=row[1:], back=True),
                    stretches(columns, down=down, after=row[1:]),
                )
            ]
            before, after = (side[0][0] if side else None for side in sides)
            return before, after

        return self._database.read(work)

    def _choice(self, connection: Connection, run_id: str, wanted: EpisodeFilter | None) -> Choice:
        return choose(connection, run_id, wanted or EpisodeFilter(), postgres=self._database.postgres)


def _look(
    connection: Connection,
    choice: Choice,
    columns: Columns,
    parts: Sequence[Stretch],
    limit: int,
    budget_s: float | None = None,
) -> _Found:
    """Find at most `limit` episodes that fit, in order: straight from an index, among few, or along the order."""
    found, end = _Found([]), time.monotonic() + (BUDGET if budget_s is None else budget_s)
    straight = choice.everything or (choice.whole and choice.straight and columns is _PLAN)
    fits = None if straight else few(connection, choice, [episodes.c.id, *_distinct(columns)])
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


def _rows(connection: Connection, wanted: Select[Any]) -> list[tuple[str, Place]]:
    return [(row[0], tuple(row[1:])) for row in connection.execute(wanted)]


def _distinct(columns: Columns) -> list[Any]:
    return [column for column in columns if column is not episodes.c.id]


def _along(connection: Connection, choice: Choice, columns: Columns, part: Stretch, limit: int, end: float) -> _Found:
    """Look through one window after the other along the index of the order until enough fit or the time is over."""
    found = _Found([])
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


def _seen(choice: Choice, part: Stretch) -> Subquery:
    """Return a window with the columns that filters look at; the wide ones only for a search."""
    names = (*_SEEN, "failure", "terminal_info", "labels") if choice.wanted.text or choice.wanted.label else _SEEN
    return _window(choice, part, *(episodes.c[name] for name in names)).subquery()


def _window(choice: Choice, part: Stretch, *columns: Any) -> Select[Any]:
    wanted = select(*columns).where(episodes.c.run_id == choice.run_id, *part.conditions)
    if part.first is episodes.c.score:
        wanted = wanted.where(*choice.scores)
    return wanted.order_by(*part.order).limit(_WINDOW)


def _count_along(connection: Connection, choice: Choice, most: int) -> tuple[int, bool]:
    end = time.monotonic() + BUDGET
    (part,) = stretches(_PLAN, down=False, after=None)
    found = 0
    while True:
        seen = _seen(choice, part)
        fit = select(func.count()).select_from(seen).where(*choice.fitting(seen.c))
        found += connection.scalar(fit) or 0
        last = connection.execute(_window(choice, part, *_PLAN).offset(_WINDOW - 1).limit(1)).one_or_none()
        if last is None or found > most:
            return min(found, most), found <= most
        if time.monotonic() > end:
            return found, False
        part = part.after(tuple(last))


def _number(connection: Connection, wanted: Select[Any], most: int) -> int:
    some = wanted.limit(most + 1).subquery()
    return connection.scalar(select(func.count()).select_from(some)) or 0


def _by_id(connection: Connection, ids: Sequence[str]) -> tuple[Episode, ...]:
    """Return episodes in the order of their ids; one that was removed at this moment is left out."""
    found: dict[str, Episode] = {}
    for start in range(0, len(ids), _BATCH):
        some = select(episodes).where(episodes.c.id.in_(ids[start : start + _BATCH]))
        found |= {episode.id: episode for episode in _with_scores(connection, some)}
    return tuple(found[episode_id] for episode_id in ids if episode_id in found)


def _with_scores(connection: Connection, wanted: Select[Any]) -> tuple[Episode, ...]:
    rows = connection.execute(wanted).all()
    scored = scores_of(connection, [row.id for row in rows])
    return tuple(episode_from(row, scored.get(row.id, ())) for row in rows)
