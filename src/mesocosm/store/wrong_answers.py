"""Counts of the wrong answers of a run by what is known of them."""

from dataclasses import dataclass
from typing import Any

import msgspec
from sqlalchemy import Column, Connection, func, select

from mesocosm.core.failure import UsageError
from mesocosm.core.one_line import answer_line
from mesocosm.core.verdict import GROUPED_BY, LABEL
from mesocosm.store.database import Database
from mesocosm.store.episode_query import episode_query, in_plan_order
from mesocosm.store.filters import EpisodeFilter
from mesocosm.store.rows import labels_from
from mesocosm.store.schema import answers, episodes


@dataclass(frozen=True, slots=True)
class WrongGroup:
    """Wrong answers with the same `value`, None for those without one, and the first of them in plan order."""

    value: str | None
    count: int
    first: int


def wrong_groups(database: Database, run_id: str, by: str) -> tuple[WrongGroup, ...]:
    """Return the wrong answers of a run, the agent's failures among them, grouped; the most frequent first.

    `by` is one of GROUPED_BY, or `label:NAME`. Answers are given as one line. Raises UsageError for anything else.
    """
    column = _column(by)

    def work(connection: Connection) -> list[tuple[str | None, int, int]]:
        choice = episode_query(connection, run_id, EpisodeFilter(outcome="fail"), postgres=database.postgres)
        own = [] if by in answers.c else [column]
        columns = [episodes.c.id, episodes.c.position, *own]
        wrong = in_plan_order(connection, run_id, columns, *choice.fitting(episodes.c))
        found = wrong if own else wrong.outerjoin(answers, answers.c.episode_id == wrong.c.id)
        group = wrong.c[column.name] if own else column
        wanted = select(group, func.count(), func.min(wrong.c.position)).select_from(found).group_by(group)
        return [(value, int(count), int(first)) for value, count, first in connection.execute(wanted)]

    found: dict[str | None, WrongGroup] = {}
    for stored, count, first in database.read(work):
        value = _shown(by, stored)
        other = found.get(value, WrongGroup(value, 0, first))
        found[value] = WrongGroup(value, other.count + count, min(other.first, first))
    return tuple(sorted(found.values(), key=lambda group: (-group.count, group.value is None, group.value or "")))


def _column(by: str) -> Column[Any]:
    if by.startswith(LABEL):
        return episodes.c.labels
    if by not in GROUPED_BY:
        known = ", ".join(GROUPED_BY)
        raise UsageError(f"wrong answers cannot be grouped by {by!r}; they can by {known}, or {LABEL}NAME")
    if by in answers.c:
        return answers.c[by]
    return episodes.c.failure_cause if by == "cause" else episodes.c.trial


def _shown(by: str, stored: Any) -> str | None:
    """Return a stored value as a person reads it."""
    if stored is None:
        return None
    if by.startswith(LABEL):
        return labels_from(stored).get(by.removeprefix(LABEL))
    if by == "trial":
        return str(stored + 1)
    return answer_line(msgspec.json.decode(stored)) if by == "answer" else str(stored)
