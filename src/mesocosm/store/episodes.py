"""Episodes: reading, searching, rescoring and removing them, and the sums kept in their run."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any, cast

import msgspec
from sqlalchemy import (
    ColumnElement,
    Connection,
    Delete,
    Double,
    Select,
    and_,
    bindparam,
    case,
    delete,
    func,
    not_,
    or_,
    select,
    tuple_,
    update,
)
from sqlalchemy import cast as sql_cast

from mesocosm.core.episode import FINISHED, SCOREABLE, Episode, EpisodeKey, EpisodeStatus
from mesocosm.core.failure import OF_CODE, RULES, UnknownName
from mesocosm.core.ids import digest
from mesocosm.core.ports import Page, ResultRow, ScoreRow
from mesocosm.core.run import ScoreBins
from mesocosm.core.score import Score
from mesocosm.store.database import BATCH, Database, batches
from mesocosm.store.episode_lists import (
    EPISODE_ORDERS,
    count_along,
    episodes_by_id,
    look,
    neighbours_of,
    scores_of,
    with_scores,
)
from mesocosm.store.episode_query import PLAN, EpisodeQuery, episode_query, few, in_plan_order
from mesocosm.store.filters import EpisodeFilter
from mesocosm.store.lookup import resolve
from mesocosm.store.pagination import checked, chosen, number_of, read_cursor, stretches, write_cursor
from mesocosm.store.rows import (
    BY_OUTCOME,
    answer_row,
    json_text,
    labels_from,
    labels_text,
    plain,
    primary_score,
    primary_threshold,
    read_metrics,
    score_outcome,
    score_rows,
)
from mesocosm.store.schema import CAUSED, UNUSUAL, answers, episodes, runs, scores
from mesocosm.store.seals import rechain, reseal
from mesocosm.store.search_index import forget
from mesocosm.store.series import RunSeries, run_series
from mesocosm.store.wrong_answers import WrongGroup, wrong_groups

_FINISHED = sorted(status.value for status in FINISHED)
_objects = msgspec.json.Decoder(dict[str, Any])
_INVALID = (
    episodes.c.status == EpisodeStatus.FAILED,
    or_(
        episodes.c.failure_cause.is_(None),
        episodes.c.failure_cause.in_([cause.value for cause, rule in RULES.items() if not rule.valid]),
    ),
)
"""Failed episodes that are not a valid measurement."""
"""Ids per statement; older SQLite versions allow at most 999 parameters."""

_LAST = 2**63 - 1
"""The largest plan position that SQL can store."""

_ORDINARY = runs.c.completed + runs.c.truncated + runs.c.timeout
"""Number of episodes of a run that ended without failing."""

_SUMS = ("prompt_tokens", "completion_tokens", "cached_tokens", "reasoning_tokens", "model_calls")
_SPENT = (*_SUMS, "cost_usd", "cost_unknown")
COUNTERS = (*_FINISHED, *BY_OUTCOME, *_SPENT)
"""Columns of a run that are sums over its episodes: finished ones by status and by outcome, and usage of all."""

_BINS = 16
"""Bins of the distribution that a run's row holds."""

_REMOVED = "usage_of_removed_episodes"
"""Provenance key of a run: usage of episodes that were removed to be run again."""


# EpisodeKey._make checks lengths in Python; for 200,000 keys that is a third of the time.
_key = cast("Callable[[Iterable[Any]], EpisodeKey]", partial(tuple.__new__, EpisodeKey))
_score_row = cast("Callable[[Iterable[Any]], ScoreRow]", partial(tuple.__new__, ScoreRow))


# ResultRow._make checks lengths in Python, which costs as much as reading the row.
_row = cast("Callable[[Iterable[Any]], ResultRow]", partial(tuple.__new__, ResultRow))


@dataclass(frozen=True, slots=True)
class PlayedTask:
    """A task that a run has finished: its display name, and the id of its first finished trial."""

    task_id: str
    episode_id: str


@dataclass(frozen=True, slots=True)
class UsageSpread:
    """Mean and standard deviation of a number over episodes."""

    mean: float
    deviation: float


@dataclass(frozen=True, slots=True)
class EpisodeSpread:
    """What an episode of a run used, over `episodes` of them: tokens and seconds."""

    episodes: int
    tokens: UsageSpread
    seconds: UsageSpread


class Episodes:
    """Episodes."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def finished_keys(self, run_id: str) -> set[EpisodeKey]:
        """Return the keys of all finished episodes of a run."""
        wanted = select(episodes.c.task_digest, episodes.c.trial).where(
            episodes.c.run_id == run_id, episodes.c.status.in_(_FINISHED)
        )
        with self._database.once() as connection:
            rows = connection.execution_options(yield_per=BATCH * 10).execute(wanted)
            return set(map(_key, rows))

    def drop_failed(self, run_id: str) -> int:
        """Delete failed episodes that are not a valid measurement, so that they become pending again.

        Return how many.
        """
        failed = delete(episodes).where(episodes.c.run_id == run_id, UNUSUAL, *_INVALID)
        return self._drop(run_id, failed)

    def reset_failed(self, run_id: str) -> int:
        """Make failed episodes that are not a valid measurement pending again, keeping their records.

        An agent whose own code failed before it asked a model is not measured either. Return how many.
        """
        causes = [cause.value for cause, rule in RULES.items() if not rule.valid]
        of_code = and_(episodes.c.failure_cause.in_([cause.value for cause in OF_CODE]), episodes.c.model_calls == 0)
        unmeasured = or_(episodes.c.failure_cause.in_(causes), of_code)
        failed = (UNUSUAL, episodes.c.status == EpisodeStatus.FAILED, unmeasured)
        unfinished = dict.fromkeys(("score", "outcome", "checksum", "link"))
        cancelled = {"status": EpisodeStatus.CANCELLED.value, **unfinished}
        statement = update(episodes).where(episodes.c.run_id == run_id, *failed).values(cancelled)

        def work(connection: Connection) -> int:
            forget(self._database, connection, run_id, and_(*failed))
            changed = connection.execute(statement).rowcount
            if changed:
                recount(connection, run_id)
                rechain(connection, run_id)
            return changed

        return self._database.write(work)

    def settle_pending(self, run_id: str) -> int:
        """Mark pending episodes that have a failure cause as failed, without a value; return how many."""
        pending = (episodes.c.run_id == run_id, UNUSUAL, episodes.c.status == EpisodeStatus.CANCELLED)
        wanted = select(episodes.c.id).where(*pending, episodes.c.failure_cause.is_not(None))

        def work(connection: Connection) -> int:
            ids = list(connection.scalars(wanted))
            primary = primary_of(connection, run_id)
            for some in batches(ids):
                failed = update(episodes).where(episodes.c.id.in_(some)).values(status=EpisodeStatus.FAILED.value)
                connection.execute(failed)
                _repeat(connection, scores_of(connection, some), primary)
            if ids:
                recount(connection, run_id)
                reseal(connection, run_id, ids)
                rechain(connection, run_id)
            return len(ids)

        return self._database.write(work)

    def drop_unscored(self, run_id: str, score: str) -> int:
        """Delete episodes without a value of `score`, except those that count as worst; return how many.

        Failed episodes that are not a valid measurement are deleted too.
        """
        lacking = select(scores.c.episode_id).where(
            scores.c.run_id == run_id, scores.c.name == score, scores.c.value.is_(None), scores.c.worst.is_(False)
        )
        unscored = delete(episodes).where(episodes.c.run_id == run_id, or_(and_(*_INVALID), episodes.c.id.in_(lacking)))
        return self._drop(run_id, unscored)

    def _drop(self, run_id: str, removal: Delete) -> int:
        def work(connection: Connection) -> int:
            keep_usage(connection, run_id, removal.whereclause)
            forget(self._database, connection, run_id, removal.whereclause)
            dropped = connection.execute(removal).rowcount
            if dropped:
                recount(connection, run_id)
                rechain(connection, run_id)
            return dropped

        return self._database.write(work)

    def get(self, reference: str, *, run_id: str = "") -> Episode:
        """Return an episode by id, unique prefix, `RUN/INDEX`, or index in `run_id`. Raises UnknownName."""
        run, _, index = reference.rpartition("/")
        run = run or (run_id if index.isdecimal() else "")

        def work(connection: Connection) -> Episode:
            if run and index.isdecimal():
                found = _at(connection, resolve(connection, runs, run), int(index))
            else:
                found = resolve(connection, episodes, reference)
            return with_scores(connection, select(episodes).where(episodes.c.id == found))[0]

        return self._database.read(work)

    def several(self, ids: Sequence[str]) -> tuple[Episode, ...]:
        """Return episodes with their scores, in the order of `ids`; those that are gone are left out."""
        return self._database.read(partial(episodes_by_id, ids=ids))

    def means(self, run_id: str) -> tuple[float | None, float | None]:
        """Return mean reward and mean steps over the episodes that did not fail; None if there are none."""
        kept = select(runs.c.mean_reward, runs.c.mean_steps).where(runs.c.id == run_id, runs.c.mean_of == _ORDINARY)

        def work(connection: Connection) -> tuple[float | None, float | None]:
            found = connection.execute(kept).one_or_none() or connection.execute(_means(connection, run_id)).one()
            return (None if found[0] is None else float(found[0]), None if found[1] is None else float(found[1]))

        return self._database.read(work)

    def spread(self, run_id: str) -> EpisodeSpread:
        """Return how much the finished episodes of a run used, and how much that varies between them."""
        used = [episodes.c.tokens, episodes.c.duration]

        def work(connection: Connection) -> EpisodeSpread:
            found = in_plan_order(connection, plain(run_id), used, *(column.is_not(None) for column in used)).c
            values = [sql_cast(column, Double) for column in (found.tokens, found.duration)]
            sums = [func.sum(one) for value in values for one in (value, value * value)]
            count, *rest = connection.execute(select(func.count(), *sums)).one()
            return EpisodeSpread(count, _spread(count, *rest[:2]), _spread(count, *rest[2:]))

        return self._database.read(work)

    def task_ids(self, run_id: str, digests: Sequence[str]) -> dict[str, str]:
        """Return the names of tasks of a run by digest; unknown digests are left out."""
        wanted = select(episodes.c.task_digest, episodes.c.task_id).where(episodes.c.run_id == run_id)
        rows = self._database.among(wanted, episodes.c.task_digest, digests)
        return {row["task_digest"]: row["task_id"] for row in rows}

    def task_set(self, run_id: str) -> str:
        """Return a digest of the set of tasks that a run has finished; equal sets have equal digests."""
        wanted = select(episodes.c.task_digest).where(episodes.c.run_id == run_id, episodes.c.status.in_(_FINISHED))
        return self._database.read(lambda connection: digest(sorted(set(connection.scalars(wanted)))))

    def score_rows(self, run_id: str, name: str = "") -> Iterator[ScoreRow]:
        """Stream the scores of finished episodes (only those called `name`, if given) in plan order.

        The order depends on the plan alone, so sums are bit-identical however often the run was interrupted.
        """
        columns = (scores.c.name, scores.c.value, scores.c.missing, scores.c.worst)
        mine = scores.c.episode_id == episodes.c.id
        wanted = (
            select(episodes.c.task_digest, episodes.c.cluster, episodes.c.trial, *columns)
            .join(scores, mine & (scores.c.name == plain(name)) if name else mine)
            .where(episodes.c.run_id == run_id, episodes.c.status.in_(_FINISHED))
            .order_by(*PLAN, *(() if name else (scores.c.name,)))
        )
        with self._database.once() as connection:
            yield from map(_score_row, connection.execution_options(yield_per=BATCH * 10).execute(wanted))

    def save_scores(
        self,
        run_id: str,
        scored: Iterable[tuple[str, Sequence[Score]]],
        labels: Mapping[str, Mapping[str, str | None]] | None = None,
    ) -> None:
        """Replace the scores of the given episodes in one transaction.

        `labels` are set in those of these episodes that it names, or removed where they are None. `scored` is read
        inside the transaction, so it should yield finished scores, not compute for long. Raises UnknownName for an
        episode that is not in this run.
        """
        with self._database.once(immediate=True) as connection:
            forget(self._database, connection, run_id)
            remaining = iter(scored)
            primary, threshold = primary_of(connection, run_id), threshold_of(connection, run_id)
            while batch := dict(islice(remaining, BATCH)):
                mine = select(func.count()).where(episodes.c.id.in_(batch), episodes.c.run_id == run_id)
                if connection.scalar(mine) != len(batch):
                    raise UnknownName(
                        f"some of these episodes are not of run {run_id}: {', '.join(list(batch)[:3])}, …"
                    )
                before = _by_outcome(connection, run_id, threshold, batch)
                connection.execute(delete(scores).where(scores.c.episode_id.in_(batch)))
                rows = [row for episode_id, new in batch.items() for row in score_rows(episode_id, run_id, new)]
                self._database.add(connection, scores, rows)
                _repeat(connection, batch, primary)
                _label(connection, {key: given for key, given in (labels or {}).items() if key in batch})
                after = _by_outcome(connection, run_id, threshold, batch)
                changed: dict[str, Any] = {name: runs.c[name] + after[name] - before[name] for name in BY_OUTCOME}
                connection.execute(update(runs).where(runs.c.id == run_id).values(bins=None, **changed))
                reseal(connection, run_id, list(batch))

    def wrong_groups(self, run_id: str, by: str) -> tuple[WrongGroup, ...]:
        """Return the wrong answers of a run grouped by `by`, the most frequent first. Raises UsageError."""
        return wrong_groups(self._database, run_id, by)

    def save_assessments(self, run_id: str, assessed: Sequence[Episode]) -> None:
        """Replace input, target, answer, reason, mistake and behaviour of the given episodes of a run."""
        rows = [row for episode in assessed if (row := answer_row(episode)) is not None]
        ids = [episode.id for episode in assessed]

        def work(connection: Connection) -> None:
            for some in batches(ids):
                connection.execute(delete(answers).where(answers.c.episode_id.in_(some), answers.c.run_id == run_id))
            self._database.add(connection, answers, rows)
            reseal(connection, run_id, ids)

        self._database.write(work)

    def list(
        self, run_id: str, *, cursor: str | None = None, limit: int = 200, status: EpisodeStatus | None = None
    ) -> Page:
        """Return a page of episodes with their scores, in plan order.

        Raises UsageError for an invalid cursor or limit.
        """
        wanted = select(episodes).where(episodes.c.run_id == run_id).order_by(*PLAN).limit(checked(limit) + 1)
        if status is not None:
            wanted = wanted.where(episodes.c.status == status)
        if status not in {None, EpisodeStatus.COMPLETED}:
            wanted = wanted.where(UNUSUAL)
        if cursor is not None:
            wanted = wanted.where(tuple_(*PLAN) > tuple(read_cursor(cursor, "episodes", PLAN)))

        def work(connection: Connection) -> Page:
            items = with_scores(connection, wanted)
            shown = items[:limit]
            place = (shown[-1].index, *shown[-1].key) if len(items) > limit else None
            return Page(shown, None if place is None else write_cursor("episodes", place))

        return self._database.read(work)

    def search(
        self,
        run_id: str,
        filter: EpisodeFilter | None = None,  # noqa: A002 - what a caller would call it
        sort: str = "position",
        cursor: str | None = None,
        limit: int = 200,
    ) -> Page:
        """Return a page of matching episodes with their scores.

        Equal values are in plan order; episodes without the value come last in both directions. `score` is the score
        that the primary metric reads. A `partial` page ran out of time: nothing else matches up to its cursor; request
        the next page at once. Raises UsageError for an invalid cursor, limit or sort key.
        """
        columns, down = chosen(EPISODE_ORDERS, sort, "episodes")
        after = None if cursor is None else tuple(read_cursor(cursor, f"episodes {sort}", columns))
        parts = stretches(columns, down=down, after=after)
        checked(limit)

        def work(connection: Connection) -> Page:
            choice = self._choice(connection, run_id, filter)
            found = look(connection, choice, columns, parts, limit + 1)
            shown = found.rows[:limit]
            rest = found.rest if len(found.rows) <= limit else shown[-1][1]
            items = episodes_by_id(connection, [episode_id for episode_id, _place in shown])
            partial = rest is not None and len(found.rows) <= limit
            return Page(items, None if rest is None else write_cursor(f"episodes {sort}", rest), partial)

        return self._database.read(work)

    def at(self, run_id: str, first: int, count: int) -> tuple[Episode, ...]:
        """Return the episodes with plan positions `first` … `first + count - 1`, at most 1,000."""
        here = (episodes.c.position >= first, episodes.c.position < first + checked(count))
        wanted = select(episodes).where(episodes.c.run_id == run_id, *here).order_by(*PLAN).limit(BATCH * 2)
        return self._database.read(lambda connection: with_scores(connection, wanted))

    def of_task(self, run_ids: Sequence[str], digest: str) -> tuple[Episode, ...]:
        """Return the finished episodes of one task in some runs, in the order of their trials."""
        found: tuple[Episode, ...] = ()
        for some in batches(run_ids):
            mine = (episodes.c.run_id.in_(some), episodes.c.task_digest == plain(digest))
            wanted = select(episodes).where(*mine, episodes.c.status.in_(_FINISHED)).order_by(episodes.c.trial)
            found += self._database.read(partial(with_scores, wanted=wanted))
        return found

    def failures(self, run_id: str) -> tuple[tuple[str, int, Episode], ...]:
        """Return (cause, number, first episode) for each cause of failed episodes, most frequent first."""
        wanted = (
            select(episodes.c.failure_cause, func.count(), func.min(episodes.c.position))
            .where(episodes.c.run_id == run_id, CAUSED)
            .group_by(episodes.c.failure_cause)
            .order_by(func.count().desc(), episodes.c.failure_cause)
        )
        rows = self._database.read(lambda connection: connection.execute(wanted).all())
        return tuple((cause, count, first) for cause, count, position in rows for first in self.at(run_id, position, 1))

    def first_missing(self, run_id: str, score: str, cause: str) -> Episode | None:
        """Return the first episode in plan order whose `score` is missing for `cause`; None if there is none."""
        wanted = (
            select(func.min(episodes.c.position))
            .join(scores, scores.c.episode_id == episodes.c.id)
            .where(scores.c.run_id == run_id, scores.c.name == score, scores.c.missing == cause)
        )
        position = self._database.scalar(wanted)
        return None if position is None else next(iter(self.at(run_id, position, 1)), None)

    def count(
        self,
        run_id: str,
        filter: EpisodeFilter | None = None,  # noqa: A002
        most: int = 10_000,
    ) -> tuple[int, bool]:
        """Return the number of matching episodes and whether it is exact: it stops at `most` or when time is up."""

        def work(connection: Connection) -> tuple[int, bool]:
            choice = self._choice(connection, run_id, filter)
            if choice.counted is not None:
                found = number_of(connection, choice.counted, most)
                return min(found, most), found <= most
            fits = few(connection, choice, [episodes.c.run_id])
            if fits is not None:
                found = number_of(connection, select(fits), most)
                return min(found, most), found <= most
            return count_along(connection, choice, most)

        return self._database.read(work)

    def neighbours(
        self,
        episode_id: str,
        filter: EpisodeFilter | None = None,  # noqa: A002
        sort: str = "position",
    ) -> tuple[str | None, str | None]:
        """Return the ids of the previous and next episode in a listing.

        None if there is none or none was found in time. Raises UnknownName, UsageError.
        """
        columns, down = chosen(EPISODE_ORDERS, sort, "episodes")

        def work(connection: Connection) -> tuple[str | None, str | None]:
            wanted = select(episodes.c.run_id, *columns).where(episodes.c.id == episode_id)
            row = connection.execute(wanted).one_or_none()
            if row is None:
                raise UnknownName(f"there is no episode {episode_id!r}; it may have been removed with its run")
            choice = self._choice(connection, row[0], filter)
            return neighbours_of(connection, choice, columns, tuple(row[1:]), down=down)

        return self._database.read(work)

    def _choice(self, connection: Connection, run_id: str, wanted: EpisodeFilter | None) -> EpisodeQuery:
        return episode_query(connection, run_id, wanted or EpisodeFilter(), postgres=self._database.postgres)

    def result_rows(self, run_id: str, primary: str) -> Iterator[ResultRow]:
        """Stream the finished episodes of a run in plan order; `primary` names its primary score."""
        column = episodes.c
        named = (scores.c.name == primary,) if primary else ()
        cause = select(func.max(scores.c.missing)).where(scores.c.episode_id == column.id, *named).scalar_subquery()
        wanted = (
            select(
                column.task_digest,
                column.cluster,
                column.score,
                column.outcome,
                column.failure_cause,
                case((column.outcome == "missing", cause)),
                column.duration,
                column.labels,
                column.trial,
            )
            .where(column.run_id == run_id, column.status.in_(_FINISHED))
            .order_by(column.position, column.task_digest, column.trial)
        )
        with self._database.once() as connection:
            yield from map(_row, connection.execution_options(yield_per=BATCH * 10).execute(wanted))

    def series(self, run_id: str, *, plays: bool = False) -> RunSeries:
        """Return the data for the charts of a run (whole id), with `plays` also the episodes they are computed from.

        Of a run with more than 10,000 episodes, that many are read, evenly spaced over the plan; counts refer to these.
        """
        return self._database.read(lambda connection: run_series(connection, run_id, plays=plays))

    def played(self, run_id: str, digests: Sequence[str]) -> dict[str, PlayedTask]:
        """Return the finished ones of the given tasks of a run, by task digest; 2,000 tasks take about 10 ms."""
        columns = (episodes.c.task_digest, episodes.c.task_id, episodes.c.id)
        finished = (episodes.c.run_id == run_id, episodes.c.status.in_(_FINISHED))
        wanted = select(*columns).where(*finished).order_by(episodes.c.task_digest, episodes.c.trial)
        found: dict[str, PlayedTask] = {}
        for row in self._database.among(wanted, episodes.c.task_digest, digests):
            found.setdefault(row["task_digest"], PlayedTask(row["task_id"], row["id"]))
        return found


def keep_means(database: Database, run_id: str) -> None:
    """Store the means over a run's episodes in its row, if missing or outdated."""
    found = new_means(database, run_id)
    if found:
        database.write(lambda connection: connection.execute(update(runs).where(runs.c.id == run_id).values(found)))


def new_means(database: Database, run_id: str) -> dict[str, Any]:
    """Return the means over a run's episodes as columns of its row; empty if they are up to date.

    Takes no write lock.
    """
    stale = select(runs.c.id).where(runs.c.id == run_id, runs.c.mean_of.is_distinct_from(_ORDINARY))

    def compute(connection: Connection) -> dict[str, Any]:
        if connection.scalar(stale) is None:
            return {}
        reward, steps, number = connection.execute(_means(connection, run_id)).one()
        return {"mean_reward": reward, "mean_steps": steps, "mean_of": number}

    return database.read(compute)


def _spread(count: int, total: float | None, squares: float | None) -> UsageSpread:
    if not count:
        return UsageSpread(0.0, 0.0)
    mean = float(total or 0.0) / count
    variance = (float(squares or 0.0) - count * mean * mean) / max(count - 1, 1)
    return UsageSpread(mean, math.sqrt(max(variance, 0.0)))


def _means(connection: Connection, run_id: str) -> Select[Any]:
    scoreable = episodes.c.status.in_([status.value for status in SCOREABLE])
    found = in_plan_order(connection, run_id, [episodes.c.total_reward, episodes.c.steps], scoreable).c
    return select(func.avg(found.total_reward), func.avg(found.steps), func.count())


def primary_of(connection: Connection, run_id: str) -> str:
    """Return the name of the score that the primary metric of a run reads; empty if none is declared."""
    row = connection.execute(select(runs.c.info, runs.c.metrics).where(runs.c.id == run_id)).one_or_none()
    return "" if row is None else primary_score(*read_metrics(row.info, row.metrics))


def threshold_of(connection: Connection, run_id: str) -> float:
    """Return the value that the primary score of an episode must exceed to pass, see rows.primary_threshold."""
    row = connection.execute(select(runs.c.info, runs.c.metrics).where(runs.c.id == run_id)).one_or_none()
    return 0.0 if row is None else primary_threshold(read_metrics(row.info, row.metrics)[0])


def count_outcomes(connection: Connection, run_id: str) -> None:
    """Count the episodes of a run by outcome again, as after a change of its threshold."""
    found = _by_outcome(connection, run_id, threshold_of(connection, run_id))
    connection.execute(update(runs).where(runs.c.id == run_id).values(found))


def _by_outcome(
    connection: Connection, run_id: str, threshold: float, ids: Iterable[str] | None = None
) -> dict[str, int]:
    """Return the number of a run's episodes, or of those with `ids`, for each of BY_OUTCOME.

    Must match rows.counted_as.
    """
    column = episodes.c
    unscored = and_(column.outcome.is_(None), column.status == EpisodeStatus.FAILED.value)
    conditions = (
        column.score > threshold,
        or_(column.score <= threshold, column.outcome == "worst", and_(unscored, not_(_INVALID[1]))),
        or_(column.outcome == "missing", and_(unscored, _INVALID[1])),
    )
    marks = [case((condition, 1), else_=0).label(name) for name, condition in zip(BY_OUTCOME, conditions, strict=True)]
    finished = column.status.in_(_FINISHED)
    if ids is None:
        found = in_plan_order(connection, run_id, marks, finished).c
    else:
        found = select(*marks).where(column.id.in_(ids), finished).subquery().c
    row = connection.execute(select(*(func.coalesce(func.sum(found[name]), 0) for name in BY_OUTCOME))).one()
    return dict(zip(BY_OUTCOME, map(int, row), strict=True))


def keep_bins(database: Database, run_id: str) -> None:
    """Store the distribution of a run's primary scores in its row."""
    found = bins_text(database, run_id)
    database.write(lambda connection: connection.execute(update(runs).where(runs.c.id == run_id).values(bins=found)))


def bins_text(database: Database, run_id: str) -> str | None:
    """Return the distribution of a run's primary scores as its row has it; None if all of them are 0 or 1."""
    wanted = select(episodes.c.score, func.count()).where(episodes.c.run_id == run_id, episodes.c.score.is_not(None))
    rows = database.read(lambda connection: connection.execute(wanted.group_by(episodes.c.score)).all())
    values = [(float(score), int(number)) for score, number in rows if math.isfinite(score)]
    if all(score in {0.0, 1.0} for score, _ in values):
        return None
    low, high = min(0.0, min(values)[0]), max(1.0, max(values)[0])
    counts = [0] * _BINS
    # The difference of the largest floats overflows, that of their halves does not.
    width = high / 2 - low / 2
    for score, number in values:
        counts[min(int((score / 2 - low / 2) / width * _BINS), _BINS - 1)] += number
    return json_text(ScoreBins(low, high, tuple(counts)))


def _repeat(connection: Connection, scored: Mapping[str, Sequence[Score]], primary: str) -> None:
    """Copy the primary scores of episodes into their rows."""
    found = [(episode_id, *score_outcome(new, primary)) for episode_id, new in scored.items()]
    rows = [{"key": key, "new_score": value, "new_outcome": outcome} for key, value, outcome in found]
    mine = update(episodes).where(episodes.c.id == bindparam("key"))
    if rows:
        connection.execute(mine.values(score=bindparam("new_score"), outcome=bindparam("new_outcome")), rows)


def _label(connection: Connection, given: Mapping[str, Mapping[str, str | None]]) -> None:
    """Set labels of episodes, or remove those that are None; others stay."""
    wanted = select(episodes.c.id, episodes.c.labels).where(episodes.c.id.in_(given))
    rows = []
    for episode_id, stored in connection.execute(wanted).all():
        merged = {**labels_from(stored), **given[episode_id]}
        kept = {name: value for name, value in merged.items() if value is not None}
        rows.append({"key": episode_id, "new_labels": labels_text(kept)})
    if rows:
        mine = update(episodes).where(episodes.c.id == bindparam("key"))
        connection.execute(mine.values(labels=bindparam("new_labels")), rows)


def _at(connection: Connection, run_id: str, index: int) -> str:
    here = select(episodes.c.id).where(episodes.c.run_id == run_id, episodes.c.position == index).order_by(*PLAN)
    # A driver raises for integers that do not fit.
    found = connection.scalar(here.limit(1)) if index <= _LAST else None
    if found is None:
        last = connection.scalar(select(func.max(episodes.c.position)).where(episodes.c.run_id == run_id))
        hint = "it has none yet" if last is None else f"the last one is {last}"
        raise UnknownName(f"run {run_id} has no stored episode with index {index}; {hint}")
    return str(found)


def mend_counters(connection: Connection, run_id: str) -> None:
    """Recompute the counters of a run if they disagree with its episodes; checking takes one index scan."""
    done = runs.c.completed + runs.c.truncated + runs.c.timeout + runs.c.failed
    stored = select(func.count()).where(episodes.c.run_id == run_id, episodes.c.status.in_(_FINISHED))
    if connection.scalar(stored) != connection.scalar(select(done).where(runs.c.id == run_id)):
        recount(connection, run_id)


def recount(connection: Connection, run_id: str) -> None:
    """Recompute the counters of a run from its episodes and from the usage of removed ones."""
    ended = select(episodes.c.status, func.count()).where(episodes.c.run_id == run_id, episodes.c.status.in_(_FINISHED))
    counters: dict[str, float] = dict.fromkeys(COUNTERS, 0)
    counters |= {row[0]: row[1] for row in connection.execute(ended.group_by(episodes.c.status))}
    counters |= _by_outcome(connection, run_id, threshold_of(connection, run_id))
    removed = _removed(_provenance(connection, run_id))
    for name, value in _used(connection, run_id).items():
        counters[name] = value + removed.get(name, 0)
    changed = update(runs).where(runs.c.id == bindparam("run")).values(**counters, bins=None)
    connection.execute(changed, {"run": run_id})


def keep_usage(connection: Connection, run_id: str, which: ColumnElement[bool] | None) -> None:
    """Record the usage of the episodes of a run that match `which`, before they are removed: it was spent."""
    if which is None or not any((used := _used(connection, run_id, which)).values()):
        return
    provenance = _provenance(connection, run_id)
    before = _removed(provenance)
    provenance[_REMOVED] = {name: before.get(name, 0) + used[name] for name in _SPENT}
    connection.execute(update(runs).where(runs.c.id == run_id).values(provenance=json_text(provenance)))


def _used(connection: Connection, run_id: str, *which: ColumnElement[bool]) -> dict[str, float]:
    names = (*_SUMS, "cost_usd")
    found = in_plan_order(connection, run_id, [episodes.c[name] for name in names], *which).c
    unknown = case((found.cost_usd.is_(None), 1), else_=0)
    wanted = select(*(func.sum(found[name]) for name in names), func.sum(unknown))
    *counted, cost, unpriced = connection.execute(wanted).one()
    # PostgreSQL sums 8-byte integers as Decimal, which would become a string in JSON.
    return dict(zip(_SPENT, (*(int(value or 0) for value in counted), cost or 0.0, int(unpriced or 0)), strict=True))


def _provenance(connection: Connection, run_id: str) -> dict[str, Any]:
    found = connection.scalar(select(runs.c.provenance).where(runs.c.id == run_id))
    return _objects.decode(found) if found else {}


def _removed(provenance: Mapping[str, Any]) -> Mapping[str, float]:
    found = provenance.get(_REMOVED)
    return found if isinstance(found, dict) else {}
