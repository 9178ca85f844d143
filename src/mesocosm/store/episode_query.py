"""Episode filters as SQL: conditions on columns, and the indexes that can narrow down the search."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Select,
    Subquery,
    and_,
    exists,
    false,
    func,
    not_,
    or_,
    select,
    union_all,
)
from sqlalchemy.sql.base import ReadOnlyColumnCollection

from mesocosm.core.episode import EpisodeStatus
from mesocosm.core.failure import RULES, Boundary
from mesocosm.store.filters import EpisodeFilter
from mesocosm.store.pagination import number_of
from mesocosm.store.rows import json_text, plain, primary_threshold, read_metrics
from mesocosm.store.schema import CAUSED, UNSCORED, UNUSUAL, answers, episodes, runs, scores

FEW = 12_000
"""Up to this many matching episodes are sorted in memory instead of scanning the index of the order: 30 ms."""

PLAN = (episodes.c.position, episodes.c.task_digest, episodes.c.trial)

_ALL = 1_000_000_000
"""A limit without effect on results; it keeps the query planner from using the index of the order instead."""

_RULES = {cause.value: rule for cause, rule in RULES.items()}
_TRIAL = re.compile(r"trial=([1-9][0-9]{0,8})")
_UNSCORED = frozenset({"worst", "missing", "skipped"})

Columns = ReadOnlyColumnCollection[str, Any]
Fitting = Callable[[Columns], list[ColumnElement[bool]]]
Lead = tuple[ColumnElement[bool], ...]


@dataclass(frozen=True, slots=True)
class EpisodeQuery:
    """An episode filter prepared for one run.

    Each of `leads` is a tuple of alternatives that have an index of their own; every matching episode satisfies one
    alternative of each lead, and its answer all of `answered`. If `whole`, a single one of these conditions is the
    complete filter; if also `straight`, its index is in plan order. `scores` bounds the primary score, for scans along
    the index of scores.
    """

    run_id: str
    wanted: EpisodeFilter
    leads: tuple[Lead, ...]
    answered: Lead
    whole: bool
    straight: bool
    scores: tuple[ColumnElement[bool], ...]
    fitting: Fitting

    @property
    def counted(self) -> Select[Any] | None:
        """A query with a row for each matching episode, out of a single index; None if there is none."""
        if self.answered and self.whole:
            return select(answers.c.run_id).where(answers.c.run_id == self.run_id, *self.answered)
        if self.everything or self.whole:
            leads = (condition for (condition,) in self.leads)
            return select(episodes.c.run_id).where(episodes.c.run_id == self.run_id, *leads)
        return None

    @property
    def everything(self) -> bool:
        """Whether all episodes match."""
        return not self.fitting(episodes.c)


def episode_query(connection: Connection, run_id: str, wanted: EpisodeFilter, *, postgres: bool) -> EpisodeQuery:
    """Prepare a filter for a run; `pass` and `fail` read the threshold of its primary metric."""
    threshold = 0.0
    if wanted.outcome in {"pass", "fail"}:
        row = connection.execute(select(runs.c.info, runs.c.metrics).where(runs.c.id == run_id)).one_or_none()
        threshold = 0.0 if row is None else primary_threshold(read_metrics(row.info, row.metrics)[0])

    def fitting(column: Columns) -> list[ColumnElement[bool]]:
        return _conditions(wanted, column, threshold, postgres=postgres)

    leads = tuple(_leads(wanted, threshold))
    ranged = wanted.score_low is not None or wanted.score_high is not None
    given = (
        *(wanted.statuses, wanted.causes, wanted.task, wanted.outcome, ranged, wanted.text, wanted.label),
        *(wanted.mistake, wanted.behaviour),
    )
    answered = tuple(_answered(wanted))
    whole = sum(map(bool, given)) == 1 == sum(map(len, leads)) + len(answered)
    single = 1 in {len(wanted.statuses), len(wanted.causes)} or wanted.outcome in _UNSCORED
    bounds = tuple(_scores(wanted, threshold))
    return EpisodeQuery(run_id, wanted, leads, answered, whole, whole and single, bounds, fitting)


def few(connection: Connection, choice: EpisodeQuery, columns: Sequence[ColumnElement[Any]]) -> Subquery | None:
    """Return these columns of all matching episodes as a subquery over at most FEW episodes, None if there are more."""
    mine = episodes.c.run_id == choice.run_id
    for answered in choice.answered:
        ids = select(answers.c.episode_id).where(answers.c.run_id == choice.run_id, answered)
        if number_of(connection, ids, FEW) <= FEW:
            # Without a condition on the run, SQLite has no other way than to read these episodes by their ids.
            return select(*columns).where(episodes.c.id.in_(ids), *choice.fitting(episodes.c)).limit(_ALL).subquery()
    for lead in choice.leads:
        number = 0
        for condition in lead:
            some = select(episodes.c.run_id).where(mine, condition).limit(FEW + 1).subquery()
            number += connection.scalar(select(func.count()).select_from(some)) or 0
        if number <= FEW:
            # The alternatives are disjoint, so UNION ALL yields no duplicates.
            fits = [select(*columns).where(mine, condition, *choice.fitting(episodes.c)) for condition in lead]
            return (union_all(*fits) if len(fits) > 1 else fits[0]).limit(_ALL).subquery()
    return None


def in_plan_order(
    connection: Connection, run_id: str, columns: Sequence[ColumnElement[Any]], *conditions: ColumnElement[bool]
) -> Subquery:
    """Return columns of the matching episodes of a run, for a sum over all of them.

    In SQLite they are read in the order of the plan, as they lie in the file: by any other of its indexes, of which it
    takes one, a million episodes take five times as long.
    """
    wanted = select(*columns).where(episodes.c.run_id == run_id, *conditions)
    return (wanted.order_by(*PLAN).limit(_ALL) if connection.dialect.name == "sqlite" else wanted).subquery()


def _conditions(
    wanted: EpisodeFilter, column: Columns, threshold: float, *, postgres: bool
) -> list[ColumnElement[bool]]:
    found: list[ColumnElement[bool]] = []
    if wanted.statuses:
        found.append(column.status.in_([status.value for status in wanted.statuses]))
    if wanted.causes:
        found.append(or_(*_caused(wanted.causes, column)))
    if wanted.task:
        found.append(column.task_digest == plain(wanted.task))
    if wanted.outcome:
        found.append(_outcome(wanted.outcome, column, threshold))
    if wanted.score_low is not None:
        found.append(column.score >= wanted.score_low)
    if wanted.score_high is not None:
        found.append(column.score <= wanted.score_high)
    if wanted.text:
        found.append(_text(plain(wanted.text), column, postgres=postgres))
    found += [exists().where(answers.c.episode_id == column.id, answered) for answered in _answered(wanted)]
    if wanted.label:
        found.append(_label(plain(wanted.label), column, postgres=postgres))
    return found


def _caused(causes: Sequence[str], column: Columns) -> list[ColumnElement[bool]]:
    """Return two conditions: the episode failed for a cause, or it did not and one of its scores is missing for it."""
    words = list(map(plain, causes))
    ends = [word for word in words if _boundary(word) is not Boundary.GRADER]
    # A judge is a model, so its failures can leave scores missing too.
    gaps = [word for word in words if _boundary(word) in {Boundary.GRADER, Boundary.MODEL}]
    found: list[ColumnElement[bool]] = []
    if ends:
        found.append(and_(CAUSED, column.failure_cause.in_(ends)))
    if gaps:
        missing = exists().where(scores.c.episode_id == column.id, scores.c.missing.in_(gaps))
        left = column.outcome.in_(["missing", "skipped"])
        found.append(and_(UNSCORED, left, column.failure_cause.is_(None), missing))
    return found


def _boundary(cause: str) -> Boundary | None:
    rule = _RULES.get(cause)
    return None if rule is None else rule.boundary


def _outcome(outcome: str, column: Columns, threshold: float) -> ColumnElement[bool]:
    if outcome == "pass":
        return and_(column.outcome == "scored", column.score > threshold)
    if outcome == "fail":
        return or_(column.outcome == "worst", column.score <= threshold)
    return column.outcome == outcome  # type: ignore[no-any-return]


def _text(text: str, column: Columns, *, postgres: bool) -> ColumnElement[bool]:
    # SQLite's LIKE already ignores the case of ASCII letters.
    written = json_text(text)[1:-1]
    columns = (
        (column.task_id, text),
        (column.cluster, text),
        (column.failure, written),
        (column.terminal_info, written),
        (column.labels, written),
    )
    return or_(
        *(
            place.icontains(word, autoescape=True) if postgres else place.contains(word, autoescape=True)
            for place, word in columns
        )
    )


def _answered(wanted: EpisodeFilter) -> list[ColumnElement[bool]]:
    """Return conditions on the answer of an episode, each with an index."""
    given = {answers.c.mistake: wanted.mistake, answers.c.behaviour: wanted.behaviour}
    return [column == plain(word) for column, word in given.items() if word]


def _label(label: str, column: Columns, *, postgres: bool) -> ColumnElement[bool]:
    # In a JSON object of strings, an unescaped quote after a brace or a comma always starts a name. Names may
    # themselves contain "=", so try every position as the separator.
    ends = [place for place, sign in enumerate(label) if sign == "="]
    pairs = [f"{json_text(label[:end])}:{json_text(label[end + 1 :])}" for end in ends]
    place = func.strpos if postgres else func.instr
    found = [place(column.labels, f"{before}{pair}") > 0 for pair in pairs for before in "{,"]
    if (trial := _TRIAL.fullmatch(label)) is not None:
        # A label of this name wins, as in groups.
        named = place(func.coalesce(column.labels, ""), '"trial":') > 0
        found.append(and_(column.trial == int(trial[1]) - 1, not_(named)))
    return or_(false(), *found)


def _leads(wanted: EpisodeFilter, threshold: float) -> list[Lead]:
    column, found = episodes.c, list[Lead]()
    if wanted.task:
        found.append((column.task_digest == plain(wanted.task),))
    if wanted.causes:
        found.append(tuple(_caused(wanted.causes, column)))
    if wanted.outcome in _UNSCORED:
        found.append((and_(UNSCORED, column.outcome == wanted.outcome),))
    if wanted.outcome == "fail":
        found.append((and_(UNSCORED, column.outcome == "worst"), column.score <= threshold))
    if wanted.statuses and EpisodeStatus.COMPLETED not in wanted.statuses:
        found.append((and_(UNUSUAL, column.status.in_([status.value for status in wanted.statuses])),))
    if wanted.outcome == "pass":
        found.append((column.score > threshold,))
    if wanted.score_low is not None or wanted.score_high is not None:
        found.append((and_(*_range(wanted)),))
    return found


def _range(wanted: EpisodeFilter) -> list[ColumnElement[bool]]:
    low, high, score = wanted.score_low, wanted.score_high, episodes.c.score
    bounds = (None if low is None else score >= low, None if high is None else score <= high)
    return [bound for bound in bounds if bound is not None]


def _scores(wanted: EpisodeFilter, threshold: float) -> list[ColumnElement[bool]]:
    score, found = episodes.c.score, _range(wanted)
    if wanted.outcome == "pass":
        found.append(score > threshold)
    elif wanted.outcome == "scored":
        found.append(score.is_not(None))
    elif wanted.outcome in _UNSCORED:
        found.append(score.is_(None))
    return found
