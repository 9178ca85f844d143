"""Make rows of a dataset from the tasks of a run's episodes, as the caller may see them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import msgspec

from mesocosm.core.episode import FINISHED, Episode
from mesocosm.interop.recorded_task import read_task
from mesocosm.rollouts.added_rows import NewRow
from mesocosm.rollouts.rows import ORIGIN
from mesocosm.server.permissions.visible_runs import VisibleRun
from mesocosm.server.refusal import Refusal
from mesocosm.server.runs.episode_list import episode_filter, episode_sort
from mesocosm.server.schemas.dataset_rows import MOST_ADDED, DatasetRowsInput

__all__ = ["PromotedRows", "promoted_rows"]

MOST_BYTES = 64 << 20
_PAGE = 500
_FEWER = "name fewer episodes, or filter them"
_encode = msgspec.json.Encoder().encode


@dataclass(frozen=True, slots=True)
class PromotedRows:
    """Rows as lines of JSON, and the JSON of the columns that a new dataset of them has.

    `without_task` episodes have no task in their record; `altered` rows are not as they were run.
    """

    lines: bytes
    count: int
    columns: str
    without_task: int
    altered: int


def promoted_rows(run: VisibleRun, chosen: DatasetRowsInput) -> PromotedRows:
    """Return the rows of the finished episodes that are chosen, one for each task.

    Raises Refusal: 403 if prompts and answers of the run are hidden from the caller, 404 for an unknown episode, 409
    without a row, 413 for too many episodes or bytes.
    """
    if run.redacted:
        raise Refusal(403, f"the prompts of run {run.id} are hidden from you; only those who own it make rows of it")
    lines: list[bytes] = []
    seen: set[str] = set()
    size = without = altered = 0
    for count, episode in enumerate(_episodes(run, chosen), 1):
        if count > MOST_ADDED:
            raise Refusal(413, f"rows are made of at most {MOST_ADDED:,} episodes at once; {_FEWER}")
        if episode.status not in FINISHED or episode.task_digest in seen:
            continue
        task = read_task(episode, run.episode(episode.id).events(), run)
        if task is None:
            without += 1
            continue
        seen.add(episode.task_digest)
        altered += task.altered
        origin = dict(zip(ORIGIN, (run.id, episode.id, episode.task_digest), strict=True))
        lines.append(_encode(NewRow(task.prompt, task.label, task.metadata, chosen.split, origin)) + b"\n")
        size += len(lines[-1])
        if size > MOST_BYTES:
            raise Refusal(413, f"the rows have more than {MOST_BYTES >> 20} MiB; {_FEWER}")
    if not lines:
        words = f"none of the chosen episodes of run {run.id} has ended and asked a model"
        raise Refusal(409, f"{words}; choose by another filter, or all")
    return PromotedRows(b"".join(lines), len(lines), _columns(run), without, altered)


def _episodes(run: VisibleRun, chosen: DatasetRowsInput) -> Iterator[Episode]:
    if chosen.episodes is not None:
        yield from (run.episode(one).record for one in dict.fromkeys(chosen.episodes))
        return
    wanted, sort, cursor = None, "position", None
    if chosen.where is not None:
        wanted, sort = episode_filter(chosen.where), episode_sort(chosen.where)
    while True:
        page = run.episodes(wanted, sort, cursor, _PAGE)
        yield from page.items
        cursor = page.cursor
        if cursor is None:
            return


def _columns(run: VisibleRun) -> str:
    """Return the columns of the dataset that a rollout ran on; `{}`, the usual ones, for other runs."""
    given = run.record.spec.benchmark.options.get("columns")
    found: dict[str, Any] = given if isinstance(given, dict) else {}
    return _encode(found).decode()
