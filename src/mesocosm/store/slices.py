"""What results and slices of a run are computed from: its finished episodes, each with the score that counts."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, cast

from sqlalchemy import case, func, select

from mesocosm.core.episode import FINISHED
from mesocosm.core.ports import ResultRow
from mesocosm.store.part import Part
from mesocosm.store.schema import episodes, scores

_FINISHED = sorted(status.value for status in FINISHED)
_BATCH = 5_000


# ResultRow._make checks lengths in Python, which costs as much as reading the row.
_row = cast("Callable[[Iterable[Any]], ResultRow]", partial(tuple.__new__, ResultRow))


class Slices(Part):
    """Episodes of the store as results need them."""

    def result_rows(self, run_id: str, primary: str) -> Iterator[ResultRow]:
        """Yield the finished episodes of a run in the order of the plan, streamed from the database.

        `primary` is the name of the score that the primary metric reads; empty where episodes have only one.
        """
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
            )
            .where(column.run_id == run_id, column.status.in_(_FINISHED))
            .order_by(column.position, column.task_digest, column.trial)
        )
        with self._database.once() as connection:
            yield from map(_row, connection.execution_options(yield_per=_BATCH).execute(wanted))
