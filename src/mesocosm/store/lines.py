"""The narrow line of each run that listings sort and filter by, and the best run of each benchmark."""

import time
from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import Connection, case, delete, func, insert, select, update

from mesocosm.core.ids import digest, digest_bytes
from mesocosm.core.run import Run, RunStatus
from mesocosm.store.database import Database
from mesocosm.store.rows import plain, run_values
from mesocosm.store.schema import benchmarks, run_deletions, run_lines, run_tags, runs

KEY = 200
"""Characters of a word that an index holds; PostgreSQL takes 2,700 bytes for all columns of an entry together."""

SEPARATOR = "\x1f"
"""Stands around each tag of a line."""

_REMEMBERED = 24 * 3600.0
"""Seconds for which deleted runs are remembered."""


def key(word: str) -> str:
    """Return a word as listings compare it: a longer one keeps its beginning, and its digest tells it apart."""
    word = plain(word)
    return word if len(word) <= KEY else word[: KEY - 32] + digest_bytes(word.encode())


def joined(tags: Iterable[str]) -> str:
    """Return tags as a line holds them: each between separators."""
    found = [tag_key(tag) for tag in tags]
    return SEPARATOR + SEPARATOR.join(found) + SEPARATOR if found else ""


def tag_key(tag: str) -> str:
    """Return a tag as lines and the table of tags hold it."""
    return key(tag.replace(SEPARATOR, " "))


def line_values(run: Run) -> dict[str, Any]:
    """Return the line of a run as column values; how it compares with others comes later."""
    row = run_values(run)
    return {
        "run_id": run.id,
        "created_at": run.created_at,
        "changed_at": time.time(),
        "status": row["status"],
        "name": key(run.name.casefold()),
        "benchmark": key(run.benchmark),
        "benchmark_digest": key(run.benchmark_digest),
        "kind": key(run.kind),
        "model": key(run.model),
        "agent": key(run.agent),
        "group_id": row["group_id"],
        "attempt": run.attempt,
        "higher_is_better": row["higher_is_better"],
        "score": row["score"],
        "cost": run.usage.cost_usd,
        "tokens": run.usage.total,
        "duration": None if run.ended_at is None or run.started_at is None else run.ended_at - run.started_at,
        "tags": joined(run.tags),
        "search": row["search"],
    }


def insert_line(database: Database, connection: Connection, run: Run) -> None:
    """Insert the line and the tags of a run that was inserted just now."""
    connection.execute(insert(run_lines).values(line_values(run)))
    insert_tags(database, connection, run.id, run.tags)
    connection.execute(delete(run_deletions).where(run_deletions.c.run_id == run.id))


def insert_tags(database: Database, connection: Connection, run_id: str, tags: Sequence[str]) -> None:
    """Insert the tags of a run that has none."""
    database.add(connection, run_tags, [(tag, run_id) for tag in dict.fromkeys(map(tag_key, tags))], known="keep")


def replace_tags(database: Database, connection: Connection, run_id: str, tags: Sequence[str], search: str) -> None:
    """Write new tags of a run into its line."""
    connection.execute(delete(run_tags).where(run_tags.c.run_id == run_id))
    insert_tags(database, connection, run_id, tags)
    new = {"tags": joined(tags), "search": search, "changed_at": time.time()}
    connection.execute(update(run_lines).where(run_lines.c.run_id == run_id).values(new))


def refresh_line(connection: Connection, run_id: str) -> None:
    """Bring the line of a run up to date with its row, and mark it as changed."""

    def of_run(value: Any) -> Any:
        return select(value).where(runs.c.id == run_id).scalar_subquery()

    new = {
        "status": of_run(runs.c.status),
        "score": of_run(runs.c.score),
        "higher_is_better": of_run(runs.c.higher_is_better),
        "cost": of_run(case((runs.c.cost_unknown > 0, None), else_=runs.c.cost_usd)),
        "tokens": of_run(runs.c.prompt_tokens + runs.c.completion_tokens),
        "duration": of_run(runs.c.ended_at - runs.c.started_at),
        "changed_at": time.time(),
    }
    # A run that was deleted meanwhile has neither row nor line.
    connection.execute(update(run_lines).where(run_lines.c.run_id == run_id).values(new))


def group_of(connection: Connection, run_id: str) -> tuple[str, str] | None:
    """Return id and digest of the benchmark of a run; None when the run is gone."""
    row = connection.execute(select(runs.c.benchmark, runs.c.benchmark_digest).where(runs.c.id == run_id)).one_or_none()
    return None if row is None else (row.benchmark, row.benchmark_digest)


def lock_group(database: Database, connection: Connection, group: tuple[str, str]) -> None:
    """Let only one transaction at a time change the best score of a benchmark.

    It must be taken before any line is written: two runs that end at once would wait for each other otherwise.
    """
    if database.postgres:
        connection.execute(select(func.pg_advisory_xact_lock(int(digest(list(group))[:15], 16))))


def refresh_best(connection: Connection, group: tuple[str, str], run_id: str) -> None:
    """Find the best score of a benchmark anew and compare its runs with it; the line of `run_id` is compared anyway.

    The best is the highest of a finished run, or the lowest where the metric says so. Only when it has changed are
    other lines written.
    """
    line = run_lines.c
    same = (line.benchmark == key(group[0]), line.benchmark_digest == key(group[1]))
    ranked = (*same, line.status == RunStatus.FINISHED.value)
    ahead = connection.scalar(
        select(line.higher_is_better).where(*ranked, line.score.is_not(None)).order_by(line.higher_is_better).limit(1)
    )
    best = run = None
    if ahead is not None:
        alike = (*ranked, line.higher_is_better == ahead)
        best = connection.scalar(select((func.max if ahead else func.min)(line.score)).where(*alike))
        run = connection.scalar(select(func.min(line.run_id)).where(*alike, line.score == best))
    this = (benchmarks.c.id == plain(group[0]), benchmarks.c.digest == plain(group[1]))
    before = connection.scalar(select(benchmarks.c.best_score).where(*this))
    connection.execute(update(benchmarks).where(*this).values(best_run=run, best_score=best))
    compared = update(run_lines).values(high_score=best, delta=None if best is None else line.score - best)
    # Every line agrees with what the benchmark's row said until now.
    connection.execute(compared.where(*same) if best != before else compared.where(line.run_id == run_id))


def remember_deletion(connection: Connection, run_id: str) -> None:
    """Note that a run is gone, and forget those that went long ago."""
    now = time.time()
    connection.execute(delete(run_deletions).where(run_deletions.c.deleted_at < now - _REMEMBERED))
    connection.execute(delete(run_deletions).where(run_deletions.c.run_id == run_id))
    connection.execute(insert(run_deletions).values(run_id=run_id, deleted_at=now))
